"""What can happen to reminders. Additive only: a breaking change is a new type and an upcaster.

Titles and bodies stand in the log as they are: a rebuild must be able to send them.
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
    """What every event of an alarm names."""

    page_id: str
    user_id: str


class AlarmRegistered(AlarmEvent):
    """A new alarm. It is due now."""

    title: str
    body: str
    next_alarm_time: datetime
    sent_count: int
    life: int
    """1, or more where the page had an alarm a short while ago: its sendings have keys of their own."""


class AlarmRenewed(AlarmEvent):
    """An alarm that was there is to be sent now. `sent_count` is kept."""

    title: str
    body: str
    next_alarm_time: datetime
    sent_count: int


class AlarmScheduled(AlarmEvent):
    next_alarm_time: datetime
    shift_min: int
    """By so much later than asked for, on the user's clock: the minute was taken, or does not exist that day."""
    timezone: str
    sent_count: int


class ScheduleSkipped(AlarmEvent):
    """It was asked for a time that has passed: refused, and kept for people."""

    asked: str
    """As it was asked, in ISO 8601."""
    timezone: str


class MinuteCrowded(AlarmEvent):
    """No free minute was found for this user: two of their alarms now fall on the same one."""

    next_alarm_time: datetime
    tries: int


class AlarmDeleted(AlarmEvent):
    life: int


class SendingEvent(AlarmEvent):
    """What every event of an attempt at a sending names."""

    sending: int
    """`sent_count` of this sending, before it is raised. With the page it is the key that a provider sees."""
    life: int
    attempt: int
    """Counts the claims of this sending."""


class AlarmDispatched(SendingEvent):
    """Somebody sends it now: `processed_at` is this event's time."""

    instance: str
    recover_at: datetime
    """When it may be claimed again, if nothing is heard of it."""


class AlarmSent(SendingEvent):
    notification_id: str | None
    sent_count: int
    """After it was raised."""
    next_alarm_time: datetime
    shift_min: int


class SendingFailed(SendingEvent):
    """Not delivered: it is released. The same key is tried again at `retry_at`; with None, at the next alarm time."""

    permanent: bool
    code: str
    error: str
    retry_at: datetime | None
    next_alarm_time: datetime
    shift_min: int


class SendingUncertain(SendingEvent):
    """Perhaps delivered, or in part: it stays in hand until `recover_at`, then the same key is sent again."""

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
