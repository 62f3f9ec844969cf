"""The read model of reminders: alarms, users, subscriptions, the history of sendings. `tables.sql` is generated from
it.

Keys include the user: each partition has some of the users and must not change rows of another partition, even if two
users' programs gave their pages the same id.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Final

from drover.readmodel.column import BigInt, words
from drover.readmodel.model import ReadModel
from drover.readmodel.relation import View, many, one, relation
from drover.readmodel.row import Row
from drover.readmodel.table import AppendTable, Index, KeyedTable

_reminder = partial(relation, "reminder")


class AlarmFacts(Row, frozen=True):
    """An alarm without its user's own texts, which are not for everybody."""

    user_id: str
    page_id: str
    next_alarm_time: datetime
    sent_count: int
    last_notification_id: str | None
    processed_at: datetime | None
    """When the alarm was claimed. Set while it is being sent, or while the outcome of sending is unknown."""
    recover_at: datetime | None
    """When the sending is retried if its outcome is still unknown."""
    retry_at: datetime | None
    """After a failure, the time of the next try."""
    attempt: int
    shift_min: int
    """How many minutes later than requested the alarm is due, because the requested minute was taken."""
    last_error: str | None
    last_sent_at: datetime | None
    created_at: datetime
    updated_at: datetime


class AlarmRow(AlarmFacts, frozen=True):
    """An alarm with its texts, which are sealed (encrypted) with the key of its user. Texts of earlier releases are not
    sealed."""

    title: str
    body: str


class UserRow(Row, frozen=True):
    user_id: str
    timezone: str
    created_at: datetime
    updated_at: datetime


class SubscriptionRow(Row, frozen=True):
    """A subscription without its secrets, which are sealed and stored only in the log."""

    id: str
    user_id: str
    channel: str
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None = None
    reason: str | None = None


ALARM_EVENT_TYPES: Final = (
    "REGISTERED",
    "RENEWED",
    "EDITED",
    "SCHEDULED",
    "SKIPPED",
    "CROWDED",
    "DELETED",
    "DISPATCHED",
    "GIVEN_UP",
    "SENT",
    "FAILED",
    "UNKNOWN",
)


class AlarmEventRow(Row, frozen=True):
    """One entry in the history of sendings."""

    id: BigInt
    """The id, computed from the position of the event in the log: sequence of the commit * 65536 + line. It grows with
    time."""
    page_id: str
    user_id: str
    sent_count: int | None
    attempt: int | None
    idempotency_key: str | None
    event_type: Annotated[str, words(*ALARM_EVENT_TYPES)]
    level: Annotated[str, words("info", "warning", "error")]
    error_code: str | None
    message: str | None
    due_at: datetime | None
    notification_id: str | None
    by: str
    created_at: datetime


ALARMS: Final = KeyedTable(
    name="alarm_rows",
    row=AlarmRow,
    key=("user_id", "page_id"),
    fillfactor=70,
    indices=(
        Index("alarm_rows_page_id", "page_id"),
        Index("alarm_rows_next_alarm_time", "next_alarm_time, page_id"),
        Index("alarm_rows_processed_at", "processed_at", where="processed_at IS NOT NULL"),
        Index("alarm_rows_failing", "next_alarm_time, page_id", where="last_error IS NOT NULL"),
    ),
)
USERS: Final = KeyedTable(name="user_rows", row=UserRow, key=("user_id",))
SUBSCRIPTIONS: Final = KeyedTable(name="subscription_rows", row=SubscriptionRow, key=("user_id", "id"))
ALARMS_EVENT: Final = AppendTable(
    name="alarms_event",
    row=AlarmEventRow,
    key=("id",),
    by_position="id",
    indices=(
        Index("alarms_event_page_id", "page_id, created_at"),
        Index("alarms_event_user_id", "user_id, created_at"),
        Index("alarms_event_created_at", "created_at"),
        Index("alarms_event_event_type", "event_type, created_at"),
    ),
)

REMINDER: Final = ReadModel(
    context="reminder",
    own_tables=(ALARMS, USERS, SUBSCRIPTIONS, ALARMS_EVENT),
    relations=(
        _reminder(
            "alarm",
            AlarmRow,
            view=View("alarm_rows", "a"),
            order=("page_id", "user_id"),
            embeds=(one("user_info", "user_id", "user_id"), many("alarms_event", "page_id", "page_id")),
            sealed={"title": None, "body": None},
        ),
        _reminder(
            "user_info",
            UserRow,
            view=View("user_rows", "u"),
            order=("user_id",),
            embeds=(many("alarm", "user_id", "user_id"),),
        ),
        _reminder("alarms_event", AlarmEventRow),
        _reminder("push_subscriptions", SubscriptionRow, view=View("subscription_rows", "s"), order=("user_id", "id")),
    ),
    rules=2,
)
