"""The table `test_ledger`: one immutable row per change of a user's balance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from drover.domain.analysis import events as e
from drover.projection.projection import Position, Tables, row_id
from drover.projector.analysis.keys import run_of, test_of
from drover.readmodel.analysis.users import LEDGER

Entry = tuple[str, int, UUID | None, UUID | None]
"""The kind, amount, test id and cleanup id of a row."""

_ENTRIES: Final[dict[type, Callable[[Any], Entry]]] = {
    e.UserRegistered: lambda event: ("initial", event.remaining_tests, None, None),
    e.TestsGranted: lambda event: ("grant", event.tests, None, None),
    e.TestsAdjusted: lambda event: ("adjustment", event.tests, None, None),
    e.TestCharged: lambda event: ("charge", -1, test_of(event), None),
    e.TestRefunded: lambda event: ("refund", 1, test_of(event), run_of(event)),
}


def append_entry(tables: Tables, event: Any, position: Position) -> None:
    entry = _ENTRIES.get(type(event))
    if entry is None:
        return
    kind, amount, test_id, run_id = entry(event)
    row = (
        row_id(position),
        kind,
        amount,
        event.remaining_tests,
        test_id,
        run_id,
        event.by,
        event.at,
        event.user_id,
    )
    tables.append(LEDGER, row)
