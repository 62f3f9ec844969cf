"""Decides the commands of people: register, schedule and delete alarms, and set a user's time zone."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from drover.domain.decider import Decision, Rejection, accept, answer, refuse_recording, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.reminder.commands import DeletePages, RegisterByPage, Schedule, SetTimezone
from drover.domain.reminder.events import (
    AlarmDeleted,
    AlarmRegistered,
    AlarmRenewed,
    AlarmScheduled,
    ScheduleSkipped,
    TimezoneSet,
    UserAdded,
)
from drover.domain.reminder.local_time import moment_of, wall_of
from drover.domain.reminder.policy import AHEAD_MAX, ALARMS_PER_USER_MAX, SENT_COUNT_FIRST, Policy
from drover.domain.reminder.schedule import crowding
from drover.domain.reminder.spacing import find_spot
from drover.domain.reminder.state import Alarm, Reminders
from drover.domain.reminder.texts import cut, unpack

FIELD: Final = "next_alarm_time"


def register_by_page(state: Reminders, command: RegisterByPage, now: datetime, policy: Policy) -> Decision:
    alarm = state.alarms.get(command.page_id)
    if alarm is None:
        return _register(state, command, now, policy)
    if alarm.user.user_id != command.user_id:
        return reject(Code.CONFLICT, "This page has an alarm of another user", page_id=command.page_id)
    title, body = unpack(alarm.text)
    title = title if command.title is None else cut(command.title)
    body = body if command.body is None else cut(command.body)
    return accept(AlarmRenewed(alarm.page_id, command.user_id, title, body, now, alarm.sent_count))


def _register(state: Reminders, command: RegisterByPage, now: datetime, policy: Policy) -> Decision:
    user = state.users.get(command.user_id)
    if user is not None and user.alarms >= ALARMS_PER_USER_MAX:
        return reject(
            Code.CONFLICT, f"This user has {ALARMS_PER_USER_MAX} alarms, which is the maximum", user_id=command.user_id
        )
    return accept(
        *new_user(state, command.user_id, policy.timezone_default),
        AlarmRegistered(
            page_id=command.page_id,
            user_id=command.user_id,
            title=cut(command.title or ""),
            body=cut(command.body or ""),
            next_alarm_time=now,
            sent_count=SENT_COUNT_FIRST,
            life=state.deleted.get(command.page_id, 0) + 1,
        ),
    )


def new_user(state: Reminders, user_id: str, timezone: str) -> list[Event]:
    return [] if user_id in state.users else [UserAdded(user_id, timezone)]


def schedule(state: Reminders, command: Schedule, now: datetime, policy: Policy) -> Decision:
    alarm = _alarm_of(state, command.page_id, command.user_id)
    if alarm is None:
        return reject(Code.NOT_FOUND, "Alarm not found", page_id=command.page_id)
    timezone = alarm.user.timezone
    wanted = command.next_alarm_time.replace(microsecond=0)
    if wanted.tzinfo is not None:
        wanted = wall_of(wanted, timezone)
    if moment_of(wanted, timezone) <= now:
        skipped = ScheduleSkipped(alarm.page_id, command.user_id, command.next_alarm_time.isoformat(), timezone)
        return refuse_recording(past_schedule(skipped), skipped)
    if moment_of(wanted, timezone) > now + AHEAD_MAX:
        return reject(Code.VALIDATION_ERROR, f"An alarm can be set {AHEAD_MAX.days} days ahead at most", field=FIELD)
    spot = find_spot(alarm.user, alarm, wanted, own_minute=alarm.minute)
    scheduled = AlarmScheduled(alarm.page_id, command.user_id, spot.moment, spot.shift_min, timezone, alarm.sent_count)
    return accept(scheduled, *crowding(state, alarm, spot, now))


def past_schedule(event: ScheduleSkipped) -> Rejection:
    details = {"page_id": event.page_id, "asked": event.asked, "timezone": event.timezone}
    return Rejection(Code.PAST_SCHEDULE, "This time has passed; the alarm stays as it was", details)


def _alarm_of(state: Reminders, page_id: str, user_id: str | None) -> Alarm | None:
    alarm = state.alarms.get(page_id)
    return alarm if alarm is not None and user_id in (None, alarm.user.user_id) else None


def set_timezone(state: Reminders, command: SetTimezone, now: datetime, policy: Policy) -> Decision:
    user = state.users.get(command.user_id)
    if user is None:
        return accept(UserAdded(command.user_id, command.timezone))
    if user.timezone == command.timezone:
        return answer({"user_id": command.user_id, "timezone": command.timezone})
    return accept(TimezoneSet(command.user_id, command.timezone))


def delete_pages(state: Reminders, command: DeletePages, now: datetime, policy: Policy) -> Decision:
    found = (_alarm_of(state, page_id, command.user_id) for page_id in dict.fromkeys(command.page_ids))
    events = [AlarmDeleted(alarm.page_id, alarm.user.user_id, alarm.life) for alarm in found if alarm is not None]
    return accept(*events) if events else answer({"deleted": []})
