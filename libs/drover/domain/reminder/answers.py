"""Answers to recorded commands, derived from their events alone: a repeated command gets the same answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from drover.domain.decider import Rejection
from drover.domain.reminder import events as e
from drover.domain.reminder.registration import past_schedule


def answer(events: Sequence[e.ReminderEvent]) -> Any:
    """Make the answer from the first event of a type that has an answer. Clients read what followed in the read
    models."""
    for event in events:
        tell = _TELL.get(type(event))
        if tell is not None:
            return tell(event, events)
    return None


def _user(event: e.UserAdded, events: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    for other in events:  # an alarm or a subscription may come after the event of its new user
        if isinstance(other, e.AlarmRegistered):
            return _registered(other, events)
        if isinstance(other, e.SubscriptionAdded):
            return _subscription(other, events)
    return {"user_id": event.user_id, "timezone": event.timezone}


def _timezone(event: e.TimezoneSet, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"user_id": event.user_id, "timezone": event.timezone}


def _registered(event: e.AlarmRegistered | e.AlarmRenewed, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {
        "page_id": event.page_id,
        "user_id": event.user_id,
        "title": event.title,
        "body": event.body,
        "next_alarm_time": event.next_alarm_time,
        "sent_count": event.sent_count,
        "created": isinstance(event, e.AlarmRegistered),
    }


def _scheduled(event: e.AlarmScheduled, events: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {
        "page_id": event.page_id,
        "user_id": event.user_id,
        "next_alarm_time": event.next_alarm_time,
        "sent_count": event.sent_count,
        "timezone": event.timezone,
        "shift_min": event.shift_min,
        "crowded": any(isinstance(other, e.MinuteCrowded) for other in events),
    }


def _skipped(event: e.ScheduleSkipped, _: Sequence[e.ReminderEvent]) -> Rejection:
    return past_schedule(event)


def _deleted(_: e.AlarmDeleted, events: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"deleted": [event.page_id for event in events if isinstance(event, e.AlarmDeleted)]}


def _claimed(_: e.AlarmDispatched, events: Sequence[e.ReminderEvent]) -> list[dict[str, Any]]:
    return [
        {"page_id": event.page_id, "sending": event.sending, "life": event.life, "attempt": event.attempt}
        for event in events
        if isinstance(event, e.AlarmDispatched)
    ]


def _sent(event: e.AlarmSent, events: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {
        "next_alarm_time": event.next_alarm_time,
        "sent_count": event.sent_count,
        "crowded": any(isinstance(other, e.MinuteCrowded) for other in events),
    }


def _failed(event: e.SendingFailed, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"retry_at": event.retry_at, "next_alarm_time": event.next_alarm_time, "sent_count": event.sending}


def _uncertain(event: e.SendingUncertain, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"recover_at": event.recover_at, "sent_count": event.sending}


def _subscription(event: e.SubscriptionAdded | e.SubscriptionRemoved, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"id": event.subscription_id, "user_id": event.user_id, "channel": event.channel}


def _fetch_limit(event: e.FetchLimitChanged, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"fetch_limit": event.fetch_limit}


_TELL: Final[dict[type, Callable[[Any, Sequence[e.ReminderEvent]], Any]]] = {
    e.UserAdded: _user,
    e.TimezoneSet: _timezone,
    e.AlarmRegistered: _registered,
    e.AlarmRenewed: _registered,
    e.AlarmScheduled: _scheduled,
    e.ScheduleSkipped: _skipped,
    e.AlarmDeleted: _deleted,
    e.AlarmDispatched: _claimed,
    e.AlarmSent: _sent,
    e.SendingFailed: _failed,
    e.SendingUncertain: _uncertain,
    e.SubscriptionAdded: _subscription,
    e.SubscriptionRemoved: _subscription,
    e.FetchLimitChanged: _fetch_limit,
}
