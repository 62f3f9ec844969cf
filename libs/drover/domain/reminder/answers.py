"""Makes the answer to a command from the events that it recorded, and from nothing else. So a repeated command gets the
same answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from drover.domain.decider import Rejection
from drover.domain.reminder import events as e
from drover.domain.reminder.registration import past_schedule


def answer(events: Sequence[e.ReminderEvent]) -> Any:
    """Make the answer from the first event that has one. Add the columns that later events of the same alarm change."""
    for index, event in enumerate(events):
        tell = _TELL.get(type(event))
        if tell is not None:
            told = tell(event, events)
            return told | _changed(events[index + 1 :]) if isinstance(told, dict) else told
    return None


def _changed(events: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for event in events:
        if (changed := _COLUMNS.get(type(event))) is not None:
            columns |= changed(event)
    return columns


def _user(event: e.UserAdded, events: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    for other in events:  # if the user was added only for an alarm or a subscription, answer with that
        if isinstance(other, e.AlarmRegistered):
            return _registered(other, events)
        if isinstance(other, e.SubscriptionAdded):
            return _subscription(other, events)
    return {"user_id": event.user_id, "timezone": event.timezone}


def _erased(event: e.UserErased, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"user_id": event.user_id}


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


def _edited(event: e.AlarmEdited, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"page_id": event.page_id, "user_id": event.user_id, **_due(event), **_texts(event)}


def _texts(event: e.AlarmEdited) -> dict[str, Any]:
    noted = {} if event.notification_id is None else {"last_notification_id": event.notification_id}
    return {"title": event.title, "body": event.body, **noted}


def _skipped(event: e.ScheduleSkipped, _: Sequence[e.ReminderEvent]) -> Rejection:
    return past_schedule(event)


def _deleted(_: e.AlarmDeleted, events: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"deleted": [event.page_id for event in events if isinstance(event, e.AlarmDeleted)]}


def _claimed(event: e.AlarmDispatched, events: Sequence[e.ReminderEvent]) -> Any:
    """Answer our own sender with a list of claimed alarms, but a sender program of the users, which wrote to the table
    `alarm`, with the columns of its alarm."""
    if event.outside:
        return {"page_id": event.page_id, "user_id": event.user_id, **_claim(event)}
    return [
        {"page_id": event.page_id, "sending": event.sending, "life": event.life, "attempt": event.attempt}
        for event in events
        if isinstance(event, e.AlarmDispatched)
    ]


def _claim(event: e.AlarmDispatched | e.ClaimGivenUp) -> dict[str, Any]:
    return {
        "processed_at": event.processed_at,
        "recover_at": event.recover_at,
        "sent_count": event.sending,
        "attempt": event.attempt,
    }


def _given_up(event: e.ClaimGivenUp, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"page_id": event.page_id, "user_id": event.user_id, **_claim(event)}


def _sending(event: e.AlarmSent) -> dict[str, Any]:
    return {**_due(event), "last_notification_id": event.notification_id, "processed_at": None}


def _sent(event: e.AlarmSent, events: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {
        **_sending(event),
        "crowded": any(isinstance(other, e.MinuteCrowded) for other in events),
    }


def _failed(event: e.SendingFailed, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"next_alarm_time": event.next_alarm_time, "sent_count": event.sending, **_failure(event)}


def _failure(event: e.SendingFailed) -> dict[str, Any]:
    return {"retry_at": event.retry_at, "processed_at": None}


def _uncertain(event: e.SendingUncertain, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"recover_at": event.recover_at, "sent_count": event.sending}


def _subscription(event: e.SubscriptionAdded | e.SubscriptionRemoved, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"id": event.subscription_id, "user_id": event.user_id, "channel": event.channel}


def _fetch_limit(event: e.FetchLimitChanged, _: Sequence[e.ReminderEvent]) -> dict[str, Any]:
    return {"fetch_limit": event.fetch_limit}


def _due(event: e.AlarmRenewed | e.AlarmEdited | e.AlarmScheduled | e.AlarmSent) -> dict[str, Any]:
    return {"next_alarm_time": event.next_alarm_time, "sent_count": event.sent_count}


_COLUMNS: Final[dict[type, Callable[[Any], dict[str, Any]]]] = {
    e.AlarmEdited: _texts,
    e.AlarmRenewed: _due,
    e.AlarmScheduled: _due,
    e.AlarmDispatched: _claim,
    e.ClaimGivenUp: _claim,
    e.AlarmSent: _sending,
    e.SendingFailed: _failure,
}
"""By event type, a function that returns the columns of `alarm` that the event changes, with their new values."""
_TELL: Final[dict[type, Callable[[Any, Sequence[e.ReminderEvent]], Any]]] = {
    e.UserAdded: _user,
    e.TimezoneSet: _timezone,
    e.UserErased: _erased,
    e.AlarmRegistered: _registered,
    e.AlarmRenewed: _registered,
    e.AlarmEdited: _edited,
    e.AlarmScheduled: _scheduled,
    e.ScheduleSkipped: _skipped,
    e.AlarmDeleted: _deleted,
    e.AlarmDispatched: _claimed,
    e.ClaimGivenUp: _given_up,
    e.AlarmSent: _sent,
    e.SendingFailed: _failed,
    e.SendingUncertain: _uncertain,
    e.SubscriptionAdded: _subscription,
    e.SubscriptionRemoved: _subscription,
    e.FetchLimitChanged: _fetch_limit,
}
