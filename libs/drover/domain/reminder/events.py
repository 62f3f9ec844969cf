"""Events of reminders. Additive only: a breaking change needs a new type and an upcaster.

Titles and bodies are in the log in clear text: after a rebuild they must still be sendable.
"""

from __future__ import annotations

from datetime import datetime

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.event import Event, TermStarted


class UserAdded(Event):
    """A user was seen for the first time."""

    user_id: str
    timezone: str


class TimezoneSet(Event):
    user_id: str
    timezone: str


class AlarmEvent(Event):
    """Fields that all events of an alarm share."""

    page_id: str
    user_id: str


class AlarmRegistered(AlarmEvent):
    """A new alarm, due now."""

    title: str
    body: str
    next_alarm_time: datetime
    sent_count: int
    life: int
    """1, or more if the page recently had another alarm: it makes the sending keys differ."""


class AlarmRenewed(AlarmEvent):
    """An existing alarm is due now. `sent_count` stays."""

    title: str
    body: str
    next_alarm_time: datetime
    sent_count: int


class AlarmScheduled(AlarmEvent):
    next_alarm_time: datetime
    shift_min: int
    """Minutes later than requested, in local time: the minute was taken, or does not exist that day."""
    timezone: str
    sent_count: int


class ScheduleSkipped(AlarmEvent):
    """The requested time has passed: refused, and recorded for people to see."""

    asked: str
    """The requested time, in ISO 8601."""
    timezone: str


class MinuteCrowded(AlarmEvent):
    """No free minute was found: two of the user's alarms now share a minute."""

    next_alarm_time: datetime
    tries: int


class AlarmDeleted(AlarmEvent):
    life: int


class SendingEvent(AlarmEvent):
    """Fields that all events of a sending attempt share."""

    sending: int
    """`sent_count` before this sending. Together with the page it is the key that a provider sees."""
    life: int
    attempt: int
    """Number of claims of this sending."""


class AlarmDispatched(SendingEvent):
    """A sender claimed the alarm: `processed_at` is this event's time."""

    instance: str
    recover_at: datetime
    """When the alarm may be claimed again, if no report arrives."""


class AlarmSent(SendingEvent):
    notification_id: str | None
    sent_count: int
    """The count after this sending."""
    next_alarm_time: datetime
    shift_min: int


class SendingFailed(SendingEvent):
    """The reminder was not delivered, so its claim ends. It is retried with the same key at `retry_at`. None: it is
    sent again at the next alarm time."""

    permanent: bool
    code: str
    error: str
    retry_at: datetime | None
    next_alarm_time: datetime
    shift_min: int


class SendingUncertain(SendingEvent):
    """The reminder was possibly delivered, or in part. It stays claimed until `recover_at` and is then sent again with
    the same key."""

    code: str
    error: str
    delivered: list[str]
    recover_at: datetime


class SubscriptionAdded(Event):
    user_id: str
    subscription_id: str
    channel: str
    sealed: str


class SubscriptionRemoved(Event):
    user_id: str
    subscription_id: str
    channel: str
    reason: str


class FetchLimitChanged(Event):
    fetch_limit: int


ReminderEvent = (
    TermStarted
    | UserAdded
    | TimezoneSet
    | AlarmRegistered
    | AlarmRenewed
    | AlarmScheduled
    | ScheduleSkipped
    | MinuteCrowded
    | AlarmDeleted
    | AlarmDispatched
    | AlarmSent
    | SendingFailed
    | SendingUncertain
    | SubscriptionAdded
    | SubscriptionRemoved
    | FetchLimitChanged
    | AlertRaised
    | AlertResolved
)
