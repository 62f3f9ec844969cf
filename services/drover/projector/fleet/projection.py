"""The fleet's projection put together: every type of event has its rule, every table its place."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

from drover.domain.event import TermStarted
from drover.domain.fleet import FLEET
from drover.domain.fleet.events import FleetEvent
from drover.eventlog.codec import Codec
from drover.postgres.types import uuid_of
from drover.projection.alert_table import ALERT_RULES, ALERTS, ALERTS_DDL
from drover.projection.event_table import EVENTS, EVENTS_DDL, append_event, jsonb_text
from drover.projection.projection import Position, Projection, Tables, need
from drover.projection.rule import Rule, Rules
from drover.projector.fleet.assignments import ASSIGNMENT_RULES, ASSIGNMENTS
from drover.projector.fleet.attempts import HISTORIES, TASKS_EVENT, append_attempt
from drover.projector.fleet.devices import DEVICE_RULES, DEVICES, PCS
from drover.projector.fleet.jobs import JOB_RULES, JOBS
from drover.projector.fleet.minutes import COUNTED, MINUTES, count_attempt, minute_of

_CODEC: Final = Codec(FleetEvent, FLEET.upcasters)
_NUL: Final = "\\u0000"
_FILES: Final = files("drover.projector.fleet")


def _sql(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _term_started(tables: Tables, event: TermStarted) -> None:
    """A change of writer is an event to show, and nothing more."""


RULES: Final[Rules] = {
    TermStarted: Rule(_term_started, lambda e: ()),
    **DEVICE_RULES,
    **JOB_RULES,
    **ASSIGNMENT_RULES,
    **ALERT_RULES,
}


def fold(tables: Tables, event: Any, raw: str, position: Position) -> None:
    if _NUL in raw:  # Postgres has none in text: the read model shows U+FFFD in its place
        raw = jsonb_text(raw)
        (event,) = _CODEC.decode(raw.encode() + b"\n")
    type_ = type(event)
    apply, entities, _ = RULES[type_]
    append_event(tables, event, entities(event), raw, position)
    apply(tables, event)
    history = HISTORIES.get(type_)
    if history is not None:
        assignment = need(tables, ASSIGNMENTS, uuid_of(event.assignment_id))
        append_attempt(tables, event, history, assignment, position)
        count_attempt(tables, event, history.event_type, assignment)


def _reads(type_: type, rule: Rule) -> tuple[Any, ...]:
    history = HISTORIES.get(type_)
    return rule.reads if history is None or history.event_type not in COUNTED else (*rule.reads, (MINUTES, minute_of))


FLEET_PROJECTION: Final = Projection(
    context="fleet",
    name="fleet",
    schema="rm_fleet",
    ddl=EVENTS_DDL + ALERTS_DDL + _sql("tables.sql") + _sql("views.sql"),
    tables=(PCS, DEVICES, JOBS, ASSIGNMENTS, ALERTS, MINUTES, EVENTS, TASKS_EVENT),
    fold=fold,
    reads={type_: _reads(type_, rule) for type_, rule in RULES.items()},
    events=FleetEvent,
    upcasters=FLEET.upcasters,
    version=3,
)
