"""Assembles the projection of reminders: a rule for every event type, and all tables."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from drover.domain.contexts import REGISTRY
from drover.domain.reminder import REMINDER
from drover.domain.reminder.events import AlarmEdited, AlarmEvent, AlarmRegistered, AlarmRenewed, SubscriptionAdded
from drover.projection.context_projection import Apply, context_projection, context_rules
from drover.projection.projection import Position, Tables
from drover.projector.reminder.alarms import ALARM_RULES
from drover.projector.reminder.history import append_history
from drover.projector.reminder.users import USER_RULES
from drover.readmodel.reminder import REMINDER as READ_MODEL

_UNTOLD: Final = REGISTRY["reminder"].hidden_fields
_WITH_UNTOLD: Final = (AlarmRegistered, AlarmRenewed, AlarmEdited, SubscriptionAdded)
"""Event types with hidden fields (texts and keys of users), which are left out of the table `events`. The texts are in
the table `alarm`, for those who may read it."""

RULES: Final = context_rules(ALARM_RULES, USER_RULES)


def _follow(tables: Tables, event: Any, position: Position, apply: Apply) -> None:
    apply(tables, event)
    if isinstance(event, AlarmEvent):
        append_history(tables, event, position)


def _shown(event: Any, raw: str) -> str:
    if not isinstance(event, _WITH_UNTOLD):
        return raw
    fields = msgspec.json.decode(raw, type=dict[str, Any])
    return msgspec.json.encode({name: value for name, value in fields.items() if name not in _UNTOLD}).decode()


REMINDER_PROJECTION: Final = context_projection(
    REMINDER,
    READ_MODEL,
    rules=RULES,
    follow=_follow,
    shown=_shown,
)
