"""The relations of reminders, as their projection makes them."""

from __future__ import annotations

from functools import partial
from typing import Final

from drover.gateway.relations.describe import many, one, relation
from drover.web.postgrest.relation import PgType

_reminder: Final = partial(relation, "reminder")

ALARM: Final = _reminder(
    "alarm",
    {
        "page_id": PgType.TEXT,
        "user_id": PgType.TEXT,
        "title": PgType.TEXT,
        "body": PgType.TEXT,
        "next_alarm_time": PgType.TIMESTAMPTZ,
        "sent_count": PgType.INTEGER,
        "last_notification_id": PgType.TEXT,
        "processed_at": PgType.TIMESTAMPTZ,
        "recover_at": PgType.TIMESTAMPTZ,
        "retry_at": PgType.TIMESTAMPTZ,
        "attempt": PgType.INTEGER,
        "shift_min": PgType.INTEGER,
        "last_error": PgType.TEXT,
        "last_sent_at": PgType.TIMESTAMPTZ,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
    },
    order=("page_id", "user_id"),
    embeds=(one("user_info", "user_id", "user_id"), many("alarms_event", "page_id", "page_id")),
)
USER_INFO: Final = _reminder(
    "user_info",
    {
        "user_id": PgType.TEXT,
        "timezone": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
    },
    order=("user_id",),
    embeds=(many("alarm", "user_id", "user_id"),),
)
ALARMS_EVENT: Final = _reminder(
    "alarms_event",
    {
        "id": PgType.BIGINT,
        "page_id": PgType.TEXT,
        "user_id": PgType.TEXT,
        "sent_count": PgType.INTEGER,
        "attempt": PgType.INTEGER,
        "idempotency_key": PgType.TEXT,
        "event_type": PgType.TEXT,
        "level": PgType.TEXT,
        "error_code": PgType.TEXT,
        "message": PgType.TEXT,
        "due_at": PgType.TIMESTAMPTZ,
        "notification_id": PgType.TEXT,
        "by": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
    },
)
PUSH_SUBSCRIPTIONS: Final = _reminder(
    "push_subscriptions",
    {
        "id": PgType.TEXT,
        "user_id": PgType.TEXT,
        "channel": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
        "ended_at": PgType.TIMESTAMPTZ,
        "reason": PgType.TEXT,
    },
    order=("user_id", "id"),
)
