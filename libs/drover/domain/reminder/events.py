"""Events of reminders. Additive only: a breaking change needs a new type and an upcaster.

Titles, bodies and subscriptions are sealed with the key of their user (`domain.erasure`). Events of earlier releases
have titles and bodies in clear text.
"""

from __future__ import annotations

from datetime import datetime

from drover.domain.alerts import (
    AlertAcknowledged,
    AlertRaised,
    AlertResolved,
    AlertSnoozed,
    AlertSnoozeEnded,
)
from drover.domain.event import Event, TermStarted


class UserAdded(Event):
    """The first command about this user was accepted."""

    user_id: str
    timezone: str


class TimezoneSet(Event):
    user_id: str
    timezone: str


class UserRemoved(Event):
    """A client deleted the user's row in `user_info`. Alarms that the user still has follow the default time zone."""

    user_id: str
    timezone: str
    """The default time zone at that time."""


class UserErased(Event):
    """The user was erased: the key that their texts and subscriptions are sealed with is destroyed."""

    user_id: str


class AlarmEvent(Event):
    """Fields that all events of an alarm share."""

    page_id: str
    user_id: str


class AlarmRegistered(AlarmEvent):
    """An alarm was registered for a page. It is due now."""

    title: str
    body: str
    next_alarm_time: datetime
    sent_count: int
    life: int
    """1, or a higher number if the page may have had another alarm recently. It keeps the sending keys of the two
    alarms apart."""
    once: bool = False
    """Whether the alarm is a notice. A notice is deleted after its first sending."""


class AlarmRenewed(AlarmEvent):
    """An existing alarm was registered again and is due now. Its `sent_count` stays."""

    title: str
    body: str
    next_alarm_time: datetime
    sent_count: int


class AlarmEdited(AlarmEvent):
    """A client changed the texts or the id of the last notification. The next time of the alarm does not change."""

    title: str
    body: str
    notification_id: str | None
    """The id of the last notification. None: it does not change."""
    next_alarm_time: datetime
    sent_count: int


class AlarmScheduled(AlarmEvent):
    next_alarm_time: datetime
    shift_min: int
    """How many minutes later than requested the alarm is due, in local time: the minute was taken, or does not exist
    that day."""
    timezone: str
    sent_count: int


class ScheduleSkipped(AlarmEvent):
    """A requested alarm time had already passed. The request was refused; the event is for people to see."""

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
    """The alarm's `sent_count` before this sending. Page id, this number and `life` make the key by which a provider
    detects repeats."""
    life: int
    attempt: int
    """How many times this sending has been claimed."""


class AlarmDispatched(SendingEvent):
    """A sender claimed the alarm."""

    instance: str
    recover_at: datetime
    """When the alarm may be claimed again if no report about the sending arrives."""
    outside: bool = False
    """Whether a sender program of the users claimed it, through the table `alarm`."""
    processed_at: datetime | None = None
    """The time of the claim that a sender program of the users wrote. None: the time of this event."""


class ClaimGivenUp(SendingEvent):
    """A client ended the claim of a sender program of the users, by writing a `processed_at` that is too old."""

    processed_at: datetime
    recover_at: datetime


class AlarmSent(SendingEvent):
    notification_id: str | None
    sent_count: int
    """The count after this sending."""
    next_alarm_time: datetime
    shift_min: int


class SendingFailed(SendingEvent):
    """The reminder was not delivered, so its claim ends. It is sent again with the same idempotency key: at `retry_at`
    or, if that is None, at the next alarm time."""

    permanent: bool
    code: str
    error: str
    retry_at: datetime | None
    next_alarm_time: datetime
    shift_min: int
    refused_from: int | None = None
    """The first of the attempts in a row, up to this one, that failed because the receiver refused the caller or knows
    no such address. None: this attempt failed in another way."""


class SendingUncertain(SendingEvent):
    """The reminder may have been delivered, fully or in part. It stays claimed until `recover_at` and is then sent
    again with the same idempotency key."""

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
    | UserRemoved
    | UserErased
    | AlarmRegistered
    | AlarmRenewed
    | AlarmEdited
    | AlarmScheduled
    | ScheduleSkipped
    | MinuteCrowded
    | AlarmDeleted
    | AlarmDispatched
    | ClaimGivenUp
    | AlarmSent
    | SendingFailed
    | SendingUncertain
    | SubscriptionAdded
    | SubscriptionRemoved
    | FetchLimitChanged
    | AlertRaised
    | AlertResolved
    | AlertAcknowledged
    | AlertSnoozed
    | AlertSnoozeEnded
)
