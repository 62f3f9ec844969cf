"""Rows of cleanups: one per run, and one per test that it found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from drover.domain.analysis import events as e
from drover.postgres.types import uuid_of
from drover.projection.projection import Position, Tables, change, row_id
from drover.projection.rule import Rule, Rules
from drover.projector.analysis.keys import run_of, test_of
from drover.readmodel.analysis.cleanups import RUN_TESTS, RUNS, RunRow

RUNNING: Final = "running"
FINISHED: Final = "finished"
CLEANED: Final = "cleaned"
SKIPPED: Final = "skipped"

_encode = msgspec.json.Encoder().encode


def _started(tables: Tables, event: e.CleanupRunStarted) -> None:
    row = RunRow(
        id=uuid_of(event.run_id),
        trigger=event.trigger,
        by=event.by,
        status=RUNNING,
        scheduled_for=event.scheduled_for,
        started_before=event.started_before,
        tiers_started_before=_encode(event.tiers_started_before).decode(),
        cleaned_count=0,
        skipped_count=0,
        users_count=0,
        duration_ms=None,
        started_at=event.at,
        finished_at=None,
    )
    tables.put(RUNS, row)


def _finished(tables: Tables, event: e.CleanupRunFinished) -> None:
    change(
        tables,
        RUNS,
        uuid_of(event.run_id),
        status=FINISHED,
        cleaned_count=event.cleaned,
        skipped_count=event.skipped,
        users_count=event.users,
        duration_ms=event.duration_ms,
        finished_at=event.at,
    )


RUN_RULES: Final[Rules] = {
    e.CleanupRunStarted: Rule(_started, lambda e: (e.run_id,)),
    e.CleanupRunFinished: Rule(_finished, lambda e: (e.run_id,), ((RUNS, run_of),)),
}


def append_found(tables: Tables, event: Any, position: Position) -> None:
    """Add a row for a test that a cleanup found. Does nothing for other events, such as a failure that a worker
    reported."""
    outcome = _FOUND.get(type(event))
    run_id = None if outcome is None else run_of(event)
    if outcome is None or run_id is None:
        return
    word, reason = outcome
    row = (row_id(position), test_of(event), event.user_id, word, reason(event), event.at, run_id)
    tables.append(RUN_TESTS, row)


_FOUND: Final[dict[type, tuple[str, Callable[[Any], str | None]]]] = {
    e.TestFailed: (CLEANED, lambda event: None),
    e.TestSkipped: (SKIPPED, lambda event: event.reason),
}
