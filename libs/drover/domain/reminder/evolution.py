"""`evolve`: applies events of reminders to a partition's state. It holds no rules of its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from sys import intern
from typing import Any, Final

from drover.domain import alerts
from drover.domain.erasure import note_erased
from drover.domain.event import TermStarted
from drover.domain.past import KEPT_AT_LEAST
from drover.domain.reminder import events as e
from drover.domain.reminder.due import Due
from drover.domain.reminder.policy import CONTEXT, KEYS_REMEMBERED_FOR, KEYS_REMEMBERED_MAX
from drover.domain.reminder.sending import NOT_THE_PROVIDERS
from drover.domain.reminder.state import Alarm, Reminders, Subscription, Tombstone, User, minute_of, seconds_of
from drover.domain.reminder.texts import pack
from drover.domain.wall_clock import note_ahead, wall_time

_REMEMBERED_S: Final = int(KEYS_REMEMBERED_FOR.total_seconds())
_KEPT_S: Final = int(KEPT_AT_LEAST.total_seconds())


def evolve(state: Reminders, event: e.ReminderEvent) -> Reminders:
    state.use.note(event)
    _EVOLVE[type(event)](state, event)
    return state


def _nothing(state: Reminders, event: object) -> None:
    """Change nothing: the event is only for people to see."""


def _term_started(state: Reminders, event: TermStarted) -> None:
    """If the wall clock was set back, bring forward retries, the ends of claims, and alarms that were requested for
    now: they were computed from the wrong clock. The times that users chose stay."""
    set_back = note_ahead(state, event)
    if not set_back:
        return
    state.timers.bring_forward(set_back)
    now_s = seconds_of(wall_time(state, event.at))
    for alarm in state.alarms.values():
        _bring_forward(alarm, set_back, now_s)
    state.waiting = Due(state.alarms, dispatched=False)
    state.recovering = Due(state.in_hand, dispatched=True)


def _bring_forward(alarm: Alarm, by: timedelta, now_s: int) -> None:
    retries = alarm.wake_s != alarm.next_s
    if alarm.immediate:
        alarm.next_s = min(alarm.next_s, now_s)
    wake_s = alarm.wake_s - int(by.total_seconds())
    if alarm.dispatched:
        alarm.wake_s = wake_s
    else:
        alarm.wake_s = max(alarm.next_s, wake_s) if retries else alarm.next_s


def _user_added(state: Reminders, event: e.UserAdded) -> None:
    user = state.users.get(event.user_id)
    if user is None:
        state.users[event.user_id] = User(event.user_id, intern(event.timezone))
    else:
        user.timezone = intern(event.timezone)
        state.unlisted.discard(event.user_id)


def _timezone_set(state: Reminders, event: e.TimezoneSet) -> None:
    state.users[event.user_id].timezone = intern(event.timezone)


def _user_removed(state: Reminders, event: e.UserRemoved) -> None:
    """Remove the user's row. Keep the user in the state until the last of their alarms is deleted."""
    user = state.users[event.user_id]
    user.timezone = intern(event.timezone)
    if user.alarms:
        state.unlisted.add(event.user_id)
    else:
        del state.users[event.user_id]


def _user_erased(state: Reminders, event: e.UserErased) -> None:
    note_erased(state.erased, CONTEXT, event.user_id)


def _registered(state: Reminders, event: e.AlarmRegistered) -> None:
    user = state.users[event.user_id]
    user.alarms += 1
    next_s = seconds_of(event.next_alarm_time)
    text = pack(event.title, event.body)
    alarm = Alarm(
        page_id=event.page_id,
        user=user,
        text=text,
        next_s=next_s,
        wake_s=next_s,
        sent_count=event.sent_count,
        life=event.life,
    )
    state.alarms[alarm.page_id] = alarm
    if event.once:
        state.once.add(alarm.page_id)
    state.waiting.push(alarm)
    state.waiting.tidy()


def _renewed(state: Reminders, event: e.AlarmRenewed) -> None:
    alarm = state.alarms[event.page_id]
    alarm.text = pack(event.title, event.body)
    _set_by_user(state, alarm, event.next_alarm_time, 0, immediate=True)


def _edited(state: Reminders, event: e.AlarmEdited) -> None:
    state.alarms[event.page_id].text = pack(event.title, event.body)


def _scheduled(state: Reminders, event: e.AlarmScheduled) -> None:
    _set_by_user(state, state.alarms[event.page_id], event.next_alarm_time, event.shift_min, immediate=False)


def _set_by_user(state: Reminders, alarm: Alarm, moment: datetime, shift_min: int, *, immediate: bool) -> None:
    """Set the alarm time that the user chose. If the alarm is claimed, it stays claimed, and the new time applies after
    the claimed sending."""
    _place(alarm, moment, shift_min, immediate=immediate)
    if alarm.dispatched:
        alarm.moved = True
    else:
        _wait(state, alarm, alarm.next_s)


def _deleted(state: Reminders, event: e.AlarmDeleted) -> None:
    alarm = state.alarms.pop(event.page_id)
    alarm.user.alarms -= 1
    if alarm.minute is not None:
        alarm.user.leave(alarm.minute)
    if not alarm.user.alarms and event.user_id in state.unlisted:
        state.unlisted.discard(event.user_id)
        del state.users[event.user_id]
    state.in_hand.pop(event.page_id, None)
    state.outside.discard(event.page_id)
    state.delivered.pop(event.page_id, None)
    state.refused.pop(event.page_id, None)
    once = event.page_id in state.once
    state.once.discard(event.page_id)
    state.waiting.tidy()
    state.recovering.tidy()
    _remember_keys(state, Tombstone(alarm.page_id, event.life, seconds_of(event.at), once))


def _remember_keys(state: Reminders, stone: Tombstone) -> None:
    state.deleted[stone.page_id] = stone.life
    state.deletions.append(stone)
    while state.told and state.told[0].at_s < stone.at_s - _REMEMBERED_S:
        _forget_keys(state, state.told.popleft(), early=False)
    while _is_too_old(state, state.deletions[0], stone.at_s):
        old = state.deletions.popleft()
        early = old.at_s >= stone.at_s - _REMEMBERED_S
        if early and old.once:
            state.told.append(old)
        else:
            _forget_keys(state, old, early=early)


def _forget_keys(state: Reminders, old: Tombstone, *, early: bool) -> None:
    if state.deleted.get(old.page_id) == old.life:
        del state.deleted[old.page_id]
        if early:
            state.life_floor = max(state.life_floor, old.life)


def _is_too_old(state: Reminders, stone: Tombstone, now_s: int) -> bool:
    if stone.at_s < now_s - _REMEMBERED_S:
        return True
    return len(state.deletions) > KEYS_REMEMBERED_MAX and stone.at_s < now_s - _KEPT_S


def _dispatched(state: Reminders, event: e.AlarmDispatched) -> None:
    alarm = state.alarms[event.page_id]
    alarm.attempt = event.attempt
    alarm.dispatched = True
    state.in_hand[alarm.page_id] = alarm
    if event.outside:
        state.outside.add(alarm.page_id)
    else:
        state.outside.discard(alarm.page_id)
    _recover(state, alarm, event.recover_at)
    state.waiting.tidy()


def _given_up(state: Reminders, event: e.ClaimGivenUp) -> None:
    _recover(state, state.alarms[event.page_id], event.recover_at)


def _recover(state: Reminders, alarm: Alarm, at: datetime) -> None:
    """Set when a claimed alarm may be claimed again."""
    alarm.wake_s = seconds_of(at)
    state.recovering.push(alarm)
    state.recovering.tidy()


def _sent(state: Reminders, event: e.AlarmSent) -> None:
    alarm = state.alarms[event.page_id]
    if not alarm.moved:
        _place(alarm, event.next_alarm_time, event.shift_min, immediate=False)
    alarm.sent_count = event.sent_count
    alarm.attempt = 0
    state.delivered.pop(alarm.page_id, None)
    state.refused.pop(alarm.page_id, None)
    _release(state, alarm)
    _wait(state, alarm, alarm.next_s)
    state.failed_in_row = 0


def _failed(state: Reminders, event: e.SendingFailed) -> None:
    alarm = state.alarms[event.page_id]
    if event.permanent:
        state.delivered.pop(alarm.page_id, None)
        if not alarm.moved:
            _place(alarm, event.next_alarm_time, event.shift_min, immediate=False)
    if event.refused_from is None:
        state.refused.pop(alarm.page_id, None)
    else:
        state.refused[alarm.page_id] = event.refused_from
    _release(state, alarm)
    _wait(state, alarm, alarm.next_s if event.retry_at is None else max(alarm.next_s, seconds_of(event.retry_at)))
    _count_failure(state, event.code)


def _uncertain(state: Reminders, event: e.SendingUncertain) -> None:
    if event.delivered:
        before = state.delivered.get(event.page_id, ())
        state.delivered[state.alarms[event.page_id].page_id] = tuple(dict.fromkeys((*before, *event.delivered)))
    _count_failure(state, event.code)


def _count_failure(state: Reminders, code: str) -> None:
    if code not in NOT_THE_PROVIDERS:
        state.failed_in_row += 1


def _place(alarm: Alarm, moment: datetime, shift_min: int, *, immediate: bool) -> None:
    """Free the minute that the alarm occupies, and occupy the new one."""
    if alarm.minute is not None:
        alarm.user.leave(alarm.minute)
    alarm.next_s = seconds_of(moment)
    alarm.shift_min = shift_min
    alarm.immediate = immediate
    if not immediate:
        alarm.user.take(minute_of(alarm.next_s))


def _release(state: Reminders, alarm: Alarm) -> None:
    """End the claim of an alarm. The list of subscriptions that received the reminder is kept until the sending is
    over."""
    alarm.dispatched = alarm.moved = False
    state.in_hand.pop(alarm.page_id, None)
    state.outside.discard(alarm.page_id)
    state.recovering.tidy()


def _wait(state: Reminders, alarm: Alarm, wake_s: int) -> None:
    alarm.wake_s = wake_s
    state.waiting.push(alarm)
    state.waiting.tidy()


def _subscription_added(state: Reminders, event: e.SubscriptionAdded) -> None:
    subscription = Subscription(event.subscription_id, intern(event.channel), event.sealed)
    state.subscriptions.setdefault(event.user_id, {})[event.subscription_id] = subscription


def _subscription_removed(state: Reminders, event: e.SubscriptionRemoved) -> None:
    known = state.subscriptions[event.user_id]
    del known[event.subscription_id]
    if not known:
        del state.subscriptions[event.user_id]


def _fetch_limit_changed(state: Reminders, event: e.FetchLimitChanged) -> None:
    state.fetch_limit = event.fetch_limit


_EVOLVE: Final[dict[type, Callable[[Reminders, Any], None]]] = {
    TermStarted: _term_started,
    e.UserAdded: _user_added,
    e.TimezoneSet: _timezone_set,
    e.UserRemoved: _user_removed,
    e.UserErased: _user_erased,
    e.AlarmRegistered: _registered,
    e.AlarmRenewed: _renewed,
    e.AlarmEdited: _edited,
    e.AlarmScheduled: _scheduled,
    e.ScheduleSkipped: _nothing,
    e.MinuteCrowded: _nothing,
    e.AlarmDeleted: _deleted,
    e.AlarmDispatched: _dispatched,
    e.ClaimGivenUp: _given_up,
    e.AlarmSent: _sent,
    e.SendingFailed: _failed,
    e.SendingUncertain: _uncertain,
    e.SubscriptionAdded: _subscription_added,
    e.SubscriptionRemoved: _subscription_removed,
    e.FetchLimitChanged: _fetch_limit_changed,
    **alerts.EVOLVE,
}
