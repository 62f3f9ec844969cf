"""The table `alarms_event`: one row per event of a sending (one try to deliver a reminder), like `tasks_event` for
phones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, NamedTuple

from drover.domain.reminder.events import (
    AlarmDeleted,
    AlarmDispatched,
    AlarmEdited,
    AlarmEvent,
    AlarmRegistered,
    AlarmRenewed,
    AlarmScheduled,
    AlarmSent,
    ClaimGivenUp,
    MinuteCrowded,
    ScheduleSkipped,
    SendingEvent,
    SendingFailed,
    SendingUncertain,
)
from drover.domain.reminder.keys import sending_key
from drover.projection.projection import Position, Tables, row_id
from drover.readmodel.reminder import ALARMS_EVENT

INFO: Final = "info"
WARNING: Final = "warning"
ERROR: Final = "error"

Told = tuple[str | None, str | None, datetime | None, str | None]
"""Columns of a row: error code, message, when the alarm is due next, the provider's id of the notification."""
_NOTHING: Final[Told] = (None, None, None, None)


class History(NamedTuple):
    event_type: str
    level: str
    told: Callable[[Any], Told] = lambda event: _NOTHING


def _due(event: Any) -> Told:
    return (None, None, event.next_alarm_time, None)


def _failure(event: SendingFailed) -> Told:
    return (event.code, event.error or None, event.retry_at or event.next_alarm_time, None)


def _uncertainty(event: SendingUncertain) -> Told:
    return (event.code, event.error or None, event.recover_at, None)


def _skip(event: ScheduleSkipped) -> Told:
    return ("past_schedule", f"asked for {event.asked} in {event.timezone}", None, None)


def _crowd(event: MinuteCrowded) -> Told:
    return ("minute_crowded", f"no free minute in {event.tries} tries", event.next_alarm_time, None)


HISTORIES: Final[dict[type, History]] = {
    AlarmRegistered: History("REGISTERED", INFO, _due),
    AlarmRenewed: History("RENEWED", INFO, _due),
    AlarmEdited: History("EDITED", INFO, _due),
    AlarmScheduled: History("SCHEDULED", INFO, _due),
    ScheduleSkipped: History("SKIPPED", ERROR, _skip),
    MinuteCrowded: History("CROWDED", ERROR, _crowd),
    AlarmDeleted: History("DELETED", INFO),
    AlarmDispatched: History("DISPATCHED", INFO, lambda e: (None, None, e.recover_at, None)),
    ClaimGivenUp: History("GIVEN_UP", INFO, lambda e: (None, None, e.recover_at, None)),
    AlarmSent: History("SENT", INFO, lambda e: (None, None, e.next_alarm_time, e.notification_id)),
    SendingFailed: History("FAILED", WARNING, _failure),
    SendingUncertain: History("UNKNOWN", WARNING, _uncertainty),
}


def append_history(tables: Tables, event: AlarmEvent, position: Position) -> None:
    history = HISTORIES[type(event)]
    sending: tuple[int | None, int | None, str | None] = (None, None, None)
    if isinstance(event, SendingEvent):
        sending = (event.sending, event.attempt, sending_key(event.page_id, event.sending, event.life))
    row = (
        row_id(position),
        event.page_id,
        event.user_id,
        *sending,
        history.event_type,
        history.level,
        *history.told(event),
        event.by,
        event.at,
    )
    tables.append(ALARMS_EVENT, row)
