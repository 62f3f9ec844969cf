"""Rows of cleanups, one for each run and one for each test that it found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from drover.domain.analysis import events as e
from drover.postgres.types import uuid_of
from drover.projection.projection import AppendTable, KeyedTable, Position, Tables, need
from drover.projection.rule import Rule, Rules
from drover.projector.analysis.keys import place, run_of, test_of

RUNNING: Final = "running"
FINISHED: Final = "finished"
CLEANED: Final = "cleaned"
SKIPPED: Final = "skipped"

_encode = msgspec.json.Encoder().encode


class RunRow(msgspec.Struct, frozen=True, gc=False):
    id: UUID
    trigger: str
    by: str
    status: str
    scheduled_for: datetime | None
    started_before: datetime
    tiers_started_before: str
    """JSON."""
    cleaned_count: int
    skipped_count: int
    users_count: int
    duration_ms: int | None
    started_at: datetime
    finished_at: datetime | None


RUNS: Final = KeyedTable(
    name="run_rows",
    row=RunRow,
    types={
        "id": "uuid",
        "trigger": "text",
        "by": "text",
        "status": "text",
        "scheduled_for": "timestamptz",
        "started_before": "timestamptz",
        "tiers_started_before": "jsonb",
        "cleaned_count": "int",
        "skipped_count": "int",
        "users_count": "int",
        "duration_ms": "bigint",
        "started_at": "timestamptz",
        "finished_at": "timestamptz",
    },
    key=("id",),
)
RUN_TESTS: Final = AppendTable(
    name="cleanup_run_tests",
    types={
        "id": "bigint",
        "run_id": "uuid",
        "test_id": "uuid",
        "user_id": "text",
        "outcome": "text",
        "reason": "text",
        "created_at": "timestamptz",
    },
    key=("id",),
)


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
    finished = replace(
        need(tables, RUNS, uuid_of(event.run_id)),
        status=FINISHED,
        cleaned_count=event.cleaned,
        skipped_count=event.skipped,
        users_count=event.users,
        duration_ms=event.duration_ms,
        finished_at=event.at,
    )
    tables.put(RUNS, finished)


RUN_RULES: Final[Rules] = {
    e.CleanupRunStarted: Rule(_started, lambda e: (e.run_id,)),
    e.CleanupRunFinished: Rule(_finished, lambda e: (e.run_id,), ((RUNS, run_of),)),
}


def append_found(tables: Tables, event: Any, position: Position) -> None:
    """What a cleanup found, if it was one: workers report failures too."""
    outcome = _FOUND.get(type(event))
    run_id = None if outcome is None else run_of(event)
    if outcome is None or run_id is None:
        return
    word, reason = outcome
    row = (place(position), run_id, test_of(event), event.user_id, word, reason(event), event.at)
    tables.append(RUN_TESTS, row)


_FOUND: Final[dict[type, tuple[str, Callable[[Any], str | None]]]] = {
    e.TestFailed: (CLEANED, lambda event: None),
    e.TestSkipped: (SKIPPED, lambda event: event.reason),
}
