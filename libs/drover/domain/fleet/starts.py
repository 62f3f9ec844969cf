"""Makes the events that start a run, from any phase of its assignment."""

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
"""Phases from which an agent may start a run by itself: the assignment holds a slot and is not running."""


def begin(
    fleet: Fleet,
    assignment: Assignment,
    now: datetime,
    *,
    progress: int = 0,
    claimed_at: datetime | None = None,
    by_pc: bool = False,
) -> list[Event]:
    """Make the events that start a run; none if it is running already. Steps that the agent skipped are recorded, too.
    A retry that was not due yet becomes a new run, and an offer that was not fetched counts as sent."""
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
    return [*events, started, *resolve_alert(fleet, OFFERS_UNTAKEN, assignment.device_id, "taken")]
