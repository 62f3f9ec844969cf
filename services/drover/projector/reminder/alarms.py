"""Rows of alarms: when each is due, and whether it is being sent."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.reminder.events import (
    AlarmDeleted,
    AlarmDispatched,
    AlarmEdited,
    AlarmRegistered,
    AlarmRenewed,
    AlarmScheduled,
    AlarmSent,
    ClaimGivenUp,
    MinuteCrowded,
    ScheduleSkipped,
    SendingFailed,
    SendingUncertain,
)
from drover.projection.projection import Tables, change
from drover.projection.rule import Rule, Rules, change_no_row
from drover.readmodel.reminder import ALARMS, AlarmRow


def alarm_of(event: Any) -> tuple[str, str]:
    return event.user_id, event.page_id


def _entities(event: Any) -> tuple[str, ...]:
    return event.page_id, event.user_id


def _change(tables: Tables, event: Any, **fields: Any) -> None:
    change(tables, ALARMS, alarm_of(event), updated_at=event.at, **fields)


def _registered(tables: Tables, event: AlarmRegistered) -> None:
    row = AlarmRow(
        user_id=event.user_id,
        page_id=event.page_id,
        title=event.title,
        body=event.body,
        next_alarm_time=event.next_alarm_time,
        sent_count=event.sent_count,
        last_notification_id=None,
        processed_at=None,
        recover_at=None,
        retry_at=None,
        attempt=0,
        shift_min=0,
        last_error=None,
        last_sent_at=None,
        created_at=event.at,
        updated_at=event.at,
    )
    tables.put(ALARMS, row)


def _renewed(tables: Tables, event: AlarmRenewed) -> None:
    due = event.next_alarm_time
    _change(tables, event, title=event.title, body=event.body, next_alarm_time=due, shift_min=0, retry_at=None)


def _edited(tables: Tables, event: AlarmEdited) -> None:
    noted = {} if event.notification_id is None else {"last_notification_id": event.notification_id}
    _change(tables, event, title=event.title, body=event.body, **noted)


def _scheduled(tables: Tables, event: AlarmScheduled) -> None:
    _change(tables, event, next_alarm_time=event.next_alarm_time, shift_min=event.shift_min, retry_at=None)


def _deleted(tables: Tables, event: AlarmDeleted) -> None:
    tables.delete(ALARMS, alarm_of(event))


def _dispatched(tables: Tables, event: AlarmDispatched) -> None:
    _change(
        tables,
        event,
        processed_at=event.processed_at or event.at,
        recover_at=event.recover_at,
        retry_at=None,
        attempt=event.attempt,
    )


def _given_up(tables: Tables, event: ClaimGivenUp) -> None:
    _change(tables, event, processed_at=event.processed_at, recover_at=event.recover_at)


def _sent(tables: Tables, event: AlarmSent) -> None:
    _change(
        tables,
        event,
        next_alarm_time=event.next_alarm_time,
        shift_min=event.shift_min,
        sent_count=event.sent_count,
        last_notification_id=event.notification_id,
        last_sent_at=event.at,
        processed_at=None,
        recover_at=None,
        retry_at=None,
        attempt=0,
        last_error=None,
    )


def _failed(tables: Tables, event: SendingFailed) -> None:
    _change(
        tables,
        event,
        next_alarm_time=event.next_alarm_time,
        shift_min=event.shift_min,
        processed_at=None,
        recover_at=None,
        retry_at=event.retry_at,
        last_error=event.code,
    )


def _uncertain(tables: Tables, event: SendingUncertain) -> None:
    _change(tables, event, recover_at=event.recover_at, last_error=event.code)


_READS: Final = ((ALARMS, alarm_of),)

ALARM_RULES: Final[Rules] = {
    AlarmRegistered: Rule(_registered, _entities),
    AlarmRenewed: Rule(_renewed, _entities, _READS),
    AlarmEdited: Rule(_edited, _entities, _READS),
    AlarmScheduled: Rule(_scheduled, _entities, _READS),
    ScheduleSkipped: Rule(change_no_row, _entities),
    MinuteCrowded: Rule(change_no_row, _entities),
    AlarmDeleted: Rule(_deleted, _entities),
    AlarmDispatched: Rule(_dispatched, _entities, _READS),
    ClaimGivenUp: Rule(_given_up, _entities, _READS),
    AlarmSent: Rule(_sent, _entities, _READS),
    SendingFailed: Rule(_failed, _entities, _READS),
    SendingUncertain: Rule(_uncertain, _entities, _READS),
}
