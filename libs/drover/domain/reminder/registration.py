"""Decides the commands of apps: register, schedule and delete alarms."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from drover.domain.decider import Decision, Rejection, accept, answer, refuse_recording, reject
from drover.domain.errors import Code
from drover.domain.reminder.commands import DeletePages, RegisterByPage, Schedule
from drover.domain.reminder.events import (
    AlarmDeleted,
    AlarmRegistered,
    AlarmRenewed,
    ScheduleSkipped,
)
from drover.domain.reminder.local_time import moment_of, wall_of
from drover.domain.reminder.policy import AHEAD_MAX, ALARMS_PER_USER_MAX, SENT_COUNT_FIRST, Policy
from drover.domain.reminder.schedule import scheduled
from drover.domain.reminder.state import Alarm, Reminders
from drover.domain.reminder.texts import cut, unpack
from drover.domain.reminder.users import new_user

FIELD: Final = "next_alarm_time"


def register_by_page(state: Reminders, command: RegisterByPage, now: datetime, policy: Policy) -> Decision:
    alarm = state.alarms.get(command.page_id)
    if alarm is None:
        return _register(state, command, now, policy)
    if alarm.user.user_id != command.user_id:
        return anothers_page(command.page_id)
    title, body = unpack(alarm.text)
    title = title if command.title is None else cut(command.title)
    body = body if command.body is None else cut(command.body)
    return accept(AlarmRenewed(alarm.page_id, command.user_id, title, body, now, alarm.sent_count))


def _register(state: Reminders, command: RegisterByPage, now: datetime, policy: Policy) -> Decision:
    if (refusal := too_many_alarms(state, command.user_id)) is not None:
        return Decision(rejection=refusal)
    return accept(
        *new_user(state, command.user_id, policy),
        AlarmRegistered(
            page_id=command.page_id,
            user_id=command.user_id,
            title=cut(command.title or ""),
            body=cut(command.body or ""),
            next_alarm_time=now,
            sent_count=SENT_COUNT_FIRST,
            life=state.next_life(command.page_id),
        ),
    )


def anothers_page(page_id: str) -> Decision:
    return reject(Code.CONFLICT, "This page has an alarm of another user", page_id=page_id)


def too_many_alarms(state: Reminders, user_id: str) -> Rejection | None:
    user = state.users.get(user_id)
    if user is None or user.alarms < ALARMS_PER_USER_MAX:
        return None
    message = f"This user has {ALARMS_PER_USER_MAX} alarms, which is the maximum"
    return Rejection(Code.CONFLICT, message, {"user_id": user_id})


def too_far_ahead(moment: datetime, now: datetime) -> Rejection | None:
    if moment <= now + AHEAD_MAX:
        return None
    return Rejection(
        Code.VALIDATION_ERROR, f"An alarm can be set {AHEAD_MAX.days} days ahead at most", {"field": FIELD}
    )


def schedule(state: Reminders, command: Schedule, now: datetime, policy: Policy) -> Decision:
    alarm = alarm_of(state, command.page_id, command.user_id)
    if alarm is None:
        return reject(Code.NOT_FOUND, "Alarm not found", page_id=command.page_id)
    timezone = alarm.user.timezone
    wanted = command.next_alarm_time.replace(microsecond=0)
    if wanted.tzinfo is not None:
        wanted = wall_of(wanted, timezone)
    moment = moment_of(wanted, timezone)
    if moment <= now:
        skipped = ScheduleSkipped(alarm.page_id, command.user_id, command.next_alarm_time.isoformat(), timezone)
        return refuse_recording(past_schedule(skipped), skipped)
    if (refusal := too_far_ahead(moment, now)) is not None:
        return Decision(rejection=refusal)
    return accept(*scheduled(state, alarm, wanted, now))


def past_schedule(event: ScheduleSkipped) -> Rejection:
    details = {"page_id": event.page_id, "asked": event.asked, "timezone": event.timezone}
    return Rejection(Code.PAST_SCHEDULE, "This time has passed; the alarm stays as it was", details)


def alarm_of(state: Reminders, page_id: str, user_id: str | None) -> Alarm | None:
    alarm = state.alarms.get(page_id)
    return alarm if alarm is not None and user_id in (None, alarm.user.user_id) else None


def delete_pages(state: Reminders, command: DeletePages, now: datetime, policy: Policy) -> Decision:
    found = (alarm_of(state, page_id, command.user_id) for page_id in dict.fromkeys(command.page_ids))
    events = [AlarmDeleted(alarm.page_id, alarm.user.user_id, alarm.life) for alarm in found if alarm is not None]
    return accept(*events) if events else answer({"deleted": []})
