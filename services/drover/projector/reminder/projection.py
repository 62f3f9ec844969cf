"""The projection of reminders put together: every type of event has its rule, every table its place."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

import msgspec

from drover.domain.contexts import UNTOLD
from drover.domain.event import TermStarted
from drover.domain.reminder import REMINDER
from drover.domain.reminder.events import AlarmEvent, AlarmRegistered, AlarmRenewed, ReminderEvent, SubscriptionAdded
from drover.eventlog.codec import Codec
from drover.projection.alert_table import ALERT_RULES, ALERTS, ALERTS_DDL
from drover.projection.event_table import EVENTS, EVENTS_DDL, append_event, jsonb_text
from drover.projection.projection import Position, Projection, Tables
from drover.projection.rule import Rule, Rules
from drover.projector.reminder.alarms import ALARM_RULES, ALARMS
from drover.projector.reminder.history import ALARMS_EVENT, append_history
from drover.projector.reminder.users import SUBSCRIPTIONS, USER_RULES, USERS

_CODEC: Final = Codec(ReminderEvent, REMINDER.upcasters)
_NUL: Final = "\\u0000"
_FILES: Final = files("drover.projector.reminder")
_UNTOLD: Final = UNTOLD["reminder"]
_WITH_UNTOLD: Final = (AlarmRegistered, AlarmRenewed, SubscriptionAdded)
"""Of these the table `events` has less: users' words stand in `alarm`, for those who may read that."""


def _sql(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _term_started(tables: Tables, event: TermStarted) -> None:
    """A change of writer is an event to show, and nothing more."""


RULES: Final[Rules] = {
    TermStarted: Rule(_term_started, lambda e: ()),
    **ALARM_RULES,
    **USER_RULES,
    **ALERT_RULES,
}


def fold(tables: Tables, event: Any, raw: str, position: Position) -> None:
    if _NUL in raw:  # Postgres has none in text: the read model shows U+FFFD in its place
        raw = jsonb_text(raw)
        (event,) = _CODEC.decode(raw.encode() + b"\n")
    apply, entities, _ = RULES[type(event)]
    append_event(tables, event, entities(event), _shown(event, raw), position)
    apply(tables, event)
    if isinstance(event, AlarmEvent):
        append_history(tables, event, position)


def _shown(event: Any, raw: str) -> str:
    if not isinstance(event, _WITH_UNTOLD):
        return raw
    fields = msgspec.json.decode(raw, type=dict[str, Any])
    return msgspec.json.encode({name: value for name, value in fields.items() if name not in _UNTOLD}).decode()


REMINDER_PROJECTION: Final = Projection(
    context="reminder",
    name="reminder",
    schema="rm_reminder",
    ddl=EVENTS_DDL + ALERTS_DDL + _sql("tables.sql") + _sql("views.sql"),
    tables=(USERS, ALARMS, SUBSCRIPTIONS, ALERTS, EVENTS, ALARMS_EVENT),
    fold=fold,
    reads={type_: rule.reads for type_, rule in RULES.items()},
    events=ReminderEvent,
    upcasters=REMINDER.upcasters,
)
