"""The table `test_ledger`: one row for each change of what a user has left, never changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from drover.domain.analysis import events as e
from drover.projection.projection import AppendTable, Position, Tables
from drover.projector.analysis.keys import place, run_of, test_of

LEDGER: Final = AppendTable(
    name="test_ledger",
    types={
        "id": "bigint",
        "user_id": "text",
        "kind": "text",
        "amount": "int",
        "remaining_tests": "int",
        "test_id": "uuid",
        "cleanup_run_id": "uuid",
        "by": "text",
        "created_at": "timestamptz",
    },
    key=("id",),
)

Entry = tuple[str, int, UUID | None, UUID | None]
"""Kind, amount, test, cleanup."""

_ENTRIES: Final[dict[type, Callable[[Any], Entry]]] = {
    e.UserRegistered: lambda event: ("initial", event.remaining_tests, None, None),
    e.TestsGranted: lambda event: ("grant", event.tests, None, None),
    e.TestCharged: lambda event: ("charge", -1, test_of(event), None),
    e.TestRefunded: lambda event: ("refund", 1, test_of(event), run_of(event)),
}


def append_entry(tables: Tables, event: Any, position: Position) -> None:
    entry = _ENTRIES.get(type(event))
    if entry is None:
        return
    kind, amount, test_id, run_id = entry(event)
    row = (
        place(position),
        event.user_id,
        kind,
        amount,
        event.remaining_tests,
        test_id,
        run_id,
        event.by,
        event.at,
    )
    tables.append(LEDGER, row)
