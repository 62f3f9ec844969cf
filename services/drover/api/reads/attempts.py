"""The history of attempts: as single events, and combined into one entry per attempt for a time line."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from drover.readmodel.fleet.attempts import AttemptFacts

ENDINGS: Final = frozenset({"SUCCEEDED", "FAILED", "TIMEOUT", "ROLLED_BACK", "CANCELLED"})


class AttemptEvent(AttemptFacts, frozen=True):
    """One event of an attempt: a row of the table `tasks_event`."""

    job_id: UUID
    assignment_id: UUID


class Attempt(msgspec.Struct):
    """One attempt at an assignment, from its offer to its end."""

    assignment_id: UUID
    job_id: UUID
    job_title: str | None
    run: int
    attempt: int
    offered_at: datetime | None = None
    sent_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: str | None = None
    """How the attempt ended: `SUCCEEDED`, `FAILED`, `TIMEOUT`, `ROLLED_BACK` or `CANCELLED`; null while it runs."""
    final: bool = False
    """Whether the attempt failed and the assignment has no attempts left."""
    error_code: str | None = None
    message: str | None = None
    retry_due_at: datetime | None = None
    screenshot_ref: str | None = None


def attempts_of(events: Iterable[Any]) -> list[Attempt]:
    """Combine the rows of `tasks_event` of one device, oldest first, into attempts."""
    found: dict[tuple[UUID, int], Attempt] = {}
    for event in events:
        kind, at = event["event_type"], event["created_at"]
        if kind == "STALE_REPORT":  # of an earlier run: it changed nothing
            continue
        place = (event["task_device_id"], event["run"])
        attempt = found.get(place)
        if attempt is None:
            attempt = found[place] = Attempt(
                event["task_device_id"], event["task_id"], event["title"], event["run"], event["attempt"]
            )
        if kind == "CREATED":
            attempt.offered_at = at
        elif kind == "SENT":
            attempt.sent_at = at
        elif kind == "ACKED":
            attempt.started_at = at
        elif kind == "RETRY_SCHEDULED":
            attempt.retry_due_at = event["due_at"]
        elif kind == "FAILED_FINAL":
            attempt.final = True
        if kind in ENDINGS:
            attempt.ended_at, attempt.outcome = at, kind
            attempt.error_code, attempt.message = event["error_code"], event["message"]
            attempt.screenshot_ref = event["screenshot_ref"]
    return list(found.values())
