"""The start of a run: the events that lead there from wherever its assignment stands."""

from __future__ import annotations

from datetime import datetime

from drover.domain.alerts import resolve_alert
from drover.domain.event import Event
from drover.domain.fleet.alerts import OFFERS_UNTAKEN
from drover.domain.fleet.events import AttemptSent, AttemptStarted
from drover.domain.fleet.policy import ATTEMPT_TIMEOUT
from drover.domain.fleet.state import Assignment, Fleet, Phase
from drover.domain.fleet.supply import resumed
from drover.domain.fleet.withdrawal import attempt_of

STARTABLE = frozenset({Phase.RETRYING, Phase.OFFERED, Phase.SENT})
"""Phases that hold a slot, so that the device may start without being asked again."""


def begin(
    fleet: Fleet,
    assignment: Assignment,
    now: datetime,
    *,
    progress: int = 0,
    claimed_at: datetime | None = None,
    by_pc: bool = False,
) -> list[Event]:
    """Nothing if it runs already. What the agent skipped is recorded as well: a retry that was not due yet becomes a
    new run, and an offer that it did not fetch was sent."""
    if assignment.phase is Phase.RUNNING:
        return []
    events: list[Event] = []
    attempt = attempt_of(assignment)
    if assignment.phase is Phase.RETRYING:
        again = resumed(fleet, assignment.assignment_id)
        attempt = (again.assignment_id, again.job_id, again.device_id, again.run, again.attempt)
        events.append(again)
    timeout_at = now + ATTEMPT_TIMEOUT
    if assignment.phase is Phase.SENT:
        assert assignment.sent_at is not None
        timeout_at = assignment.sent_at + ATTEMPT_TIMEOUT
    else:
        events.append(AttemptSent(*attempt, timeout_at))
    started = AttemptStarted(*attempt, progress, claimed_at, timeout_at, by_pc)
    return [*events, started, *resolve_alert(fleet.alerts, OFFERS_UNTAKEN, assignment.device_id, "taken")]
