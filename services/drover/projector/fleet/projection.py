"""Assembles the fleet's projection: a rule for every event type, and all tables."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.fleet import FLEET
from drover.projection.context_projection import Apply, context_projection, context_rules
from drover.projection.projection import Position, Tables, need
from drover.projector.fleet.assignments import ASSIGNMENT_RULES
from drover.projector.fleet.attempts import HISTORIES, append_attempt
from drover.projector.fleet.devices import DEVICE_RULES
from drover.projector.fleet.jobs import JOB_RULES
from drover.projector.fleet.keys import assignment_of
from drover.projector.fleet.minutes import COUNTED, count_attempt, minute_of
from drover.readmodel.fleet import FLEET as READ_MODEL
from drover.readmodel.fleet.assignments import ASSIGNMENTS
from drover.readmodel.fleet.attempts import MINUTES

RULES: Final = context_rules(DEVICE_RULES, JOB_RULES, ASSIGNMENT_RULES)


def _follow(tables: Tables, event: Any, position: Position, apply: Apply) -> None:
    apply(tables, event)
    history = HISTORIES.get(type(event))
    if history is not None:
        assignment = need(tables, ASSIGNMENTS, assignment_of(event))
        append_attempt(tables, event, history, assignment, position)
        count_attempt(tables, event, history.event_type, assignment)


FLEET_PROJECTION: Final = context_projection(
    FLEET,
    READ_MODEL,
    rules=RULES,
    follow=_follow,
    reads={type_: ((MINUTES, minute_of),) for type_, history in HISTORIES.items() if history.event_type in COUNTED},
)
