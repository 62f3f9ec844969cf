"""The fleet's projection put together: every type of event has its rule, every table its place."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.fleet import FLEET
from drover.postgres.types import uuid_of
from drover.projection.alert_table import ALERTS
from drover.projection.context_projection import Apply, context_projection, context_rules
from drover.projection.event_table import EVENTS
from drover.projection.projection import Position, Tables, need
from drover.projector.fleet.assignments import ASSIGNMENT_RULES, ASSIGNMENTS
from drover.projector.fleet.attempts import HISTORIES, TASKS_EVENT, append_attempt
from drover.projector.fleet.devices import DEVICE_RULES, DEVICES, PCS
from drover.projector.fleet.jobs import JOB_RULES, JOBS
from drover.projector.fleet.minutes import COUNTED, MINUTES, count_attempt, minute_of

RULES: Final = context_rules(DEVICE_RULES, JOB_RULES, ASSIGNMENT_RULES)


def _follow(tables: Tables, event: Any, position: Position, apply: Apply) -> None:
    apply(tables, event)
    history = HISTORIES.get(type(event))
    if history is not None:
        assignment = need(tables, ASSIGNMENTS, uuid_of(event.assignment_id))
        append_attempt(tables, event, history, assignment, position)
        count_attempt(tables, event, history.event_type, assignment)


FLEET_PROJECTION: Final = context_projection(
    FLEET,
    "drover.projector.fleet",
    rules=RULES,
    tables=(PCS, DEVICES, JOBS, ASSIGNMENTS, ALERTS, MINUTES, EVENTS, TASKS_EVENT),
    follow=_follow,
    reads={type_: ((MINUTES, minute_of),) for type_, history in HISTORIES.items() if history.event_type in COUNTED},
    version=4,
)
