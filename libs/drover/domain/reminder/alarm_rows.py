"""Decides the writes of clients to rows of `alarm`, a table of document 004 (reminders).

Some of these clients are sender programs of the users, which send reminders themselves. Such a program writes columns
to claim an alarm and to report that it has sent the alarm. It can work beside our sender: an alarm has one claim at a
time, a claim needs an alarm that is due, and only the side that claimed an alarm can release it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from drover.domain.decider import NOTHING, Decision, Rejection, accept, answer, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.reminder.commands import AddAlarm, AlarmRow, AlarmSeen, ChangeAlarm, DeleteAlarm
from drover.domain.reminder.events import (
    AlarmEdited,
    AlarmRegistered,
    AlarmRenewed,
    ClaimGivenUp,
    SendingFailed,
)
from drover.domain.reminder.local_time import MINUTE, wall_of
from drover.domain.reminder.notices import deletion
from drover.domain.reminder.policy import SENT_COUNT_FIRST, Policy
from drover.domain.reminder.registration import alarm_of, anothers_page, too_far_ahead, too_many_alarms
from drover.domain.reminder.schedule import following_spot, scheduled
from drover.domain.reminder.sending import RELEASED, claim, notification_id, sent
from drover.domain.reminder.spacing import Spot, find_spot
from drover.domain.reminder.state import Alarm, Reminders, moment_at, seconds_of
from drover.domain.reminder.texts import cut, unpack
from drover.domain.reminder.users import new_user

OUTSIDE: Final = "table"
"""The name of the claiming instance in claims that sender programs of the users made through the table `alarm`."""

Step = Callable[[Reminders, datetime], Sequence[Event]]


def add_alarm(state: Reminders, command: AddAlarm, now: datetime, policy: Policy) -> Decision:
    alarm = state.alarms.get(command.page_id)
    if alarm is not None and alarm.user.user_id != command.user_id:
        return anothers_page(command.page_id)
    if alarm is not None:
        return reject(Code.UNIQUE_VIOLATION, "This page has an alarm already", page_id=command.page_id)
    refusal = too_many_alarms(state, command.user_id) or _too_far(command, now)
    if refusal is not None:
        return Decision(rejection=refusal)
    due = now if command.next_alarm_time is None else command.next_alarm_time.astimezone(UTC)
    registered = AlarmRegistered(
        page_id=command.page_id,
        user_id=command.user_id,
        title=cut(command.title or ""),
        body=cut(command.body or ""),
        next_alarm_time=due if _means_now(due, now) else now,
        sent_count=command.sent_count or SENT_COUNT_FIRST,
        life=state.next_life(command.page_id),
    )
    steps: list[Step] = [partial(_schedule, command), partial(_edit, command)]
    if command.processed_at is not None and _means_now(due, now):
        steps.append(partial(_claim, command, policy))
    return accept(*new_user(state, command.user_id, policy), registered, then=partial(_run, steps))


def change_alarm(state: Reminders, command: ChangeAlarm, now: datetime, policy: Policy) -> Decision:
    alarm = alarm_of(state, command.page_id, command.user_id)
    if alarm is None:
        return _unknown(command.page_id)
    refusal = _refusal(state, alarm, command, now, policy)
    if refusal is not None:
        return Decision(rejection=refusal)
    decision = _run(_steps(state, alarm, command, now, policy), state, now)
    return decision if decision.events else answer(_unchanged(alarm))


def _steps(state: Reminders, alarm: Alarm, command: AlarmRow, now: datetime, policy: Policy) -> Iterator[Step]:
    """Return the steps that the written columns ask for, in the order in which they are recorded."""
    yield partial(_edit, command)
    if _is_sent(alarm, command):
        yield partial(_send, command, policy)
        yield partial(_end_notice, command)
        return
    if command.processed_at is not None:
        yield partial(_claim, command, policy)
    elif command.release and not _is_ours(state, alarm, now):
        yield partial(_release, command, policy)
    yield partial(_schedule, command)


def _unchanged(alarm: Alarm) -> dict[str, Any]:
    title, body = unpack(alarm.text)
    return {
        "page_id": alarm.page_id,
        "user_id": alarm.user.user_id,
        "title": title,
        "body": body,
        "sent_count": alarm.sent_count,
    }


def delete_alarm(state: Reminders, command: DeleteAlarm, now: datetime, policy: Policy) -> Decision:
    alarm = alarm_of(state, command.page_id, command.user_id)
    if alarm is None:
        return _unknown(command.page_id)
    if not _is_as_seen(alarm, command.only_if):
        return Decision(rejection=_moved_on(alarm))
    return accept(deletion(alarm))


def _run(steps: Iterable[Step], state: Reminders, now: datetime) -> Decision:
    """Take the steps in one commit. Each step sees the state after the step before it."""
    left = deque(steps)
    while left:
        if events := left.popleft()(state, now):
            return accept(*events, then=partial(_run, tuple(left)))
    return NOTHING


def _refusal(state: Reminders, alarm: Alarm, command: ChangeAlarm, now: datetime, policy: Policy) -> Rejection | None:
    if not _is_as_seen(alarm, command.only_if):
        return _moved_on(alarm)
    if command.sent_count not in (None, alarm.sent_count, alarm.sent_count + 1):
        message = f"sent_count is {alarm.sent_count}. It counts sendings, one at a time"
        return Rejection(Code.STALE_ATTEMPT, message, {"page_id": alarm.page_id, "sent_count": alarm.sent_count})
    if (too_far := _too_far(command, now)) is not None:
        return too_far
    if _is_sent(alarm, command):
        return None
    if command.processed_at is not None:
        return _claim_refusal(state, alarm, command.processed_at, now, policy)
    if command.release and _is_ours(state, alarm, now) and not _changes_more(command):
        return Rejection(Code.CONFLICT, "Drover is sending this alarm", {"page_id": alarm.page_id})
    return None


def _claim_refusal(
    state: Reminders, alarm: Alarm, processed_at: datetime, now: datetime, policy: Policy
) -> Rejection | None:
    if _is_claimed(alarm, now):
        if alarm.page_id in state.outside and _recover_at(processed_at, now, policy) <= now:
            return None
        return Rejection(Code.CONFLICT, "This alarm is being sent", {"page_id": alarm.page_id})
    if alarm.next_s > seconds_of(now):
        # Two senders may have read the alarm as due. One has sent it meanwhile, so the other must not.
        due = moment_at(alarm.next_s).isoformat()
        return Rejection(Code.CONFLICT, "This alarm is not due yet", {"page_id": alarm.page_id, "due": due})
    return None


def _is_as_seen(alarm: Alarm, seen: AlarmSeen | None) -> bool:
    return seen is None or (
        seen.claimed in (None, alarm.dispatched)
        and seen.attempt in (None, alarm.attempt)
        and seen.sent_count in (None, alarm.sent_count)
        and (seen.next_alarm_time is None or seconds_of(seen.next_alarm_time) == alarm.next_s)
    )


def _is_claimed(alarm: Alarm, now: datetime) -> bool:
    """Whether the alarm is claimed and the claim has not expired."""
    return alarm.dispatched and alarm.wake_s > seconds_of(now)


def _is_ours(state: Reminders, alarm: Alarm, now: datetime) -> bool:
    return _is_claimed(alarm, now) and alarm.page_id not in state.outside


def _is_sent(alarm: Alarm, command: AlarmRow) -> bool:
    return command.sent_count == alarm.sent_count + 1


def _changes_more(command: AlarmRow) -> bool:
    """Whether the client wrote a text or a time, besides null into `processed_at`. Apps write whole rows back, and a
    null `processed_at` in them need not mean that a claim shall end."""
    return not (command.title is None and command.body is None and command.next_alarm_time is None)


def _means_now(time: datetime, now: datetime) -> bool:
    """Whether a time that a client wrote means that the alarm is due now. A time less than a minute ahead does, because
    clients' clocks may be ahead of ours."""
    return time < now + MINUTE


def _recover_at(processed_at: datetime, now: datetime, policy: Policy) -> datetime:
    return min(processed_at, now) + policy.recover_after


def _edit(command: AlarmRow, state: Reminders, now: datetime) -> Sequence[Event]:
    alarm = state.alarms[command.page_id]
    before = unpack(alarm.text)
    title = before[0] if command.title is None else cut(command.title)
    body = before[1] if command.body is None else cut(command.body)
    # If the client reports a sending, the event of that sending records the id of the notification.
    noted = None if _is_sent(alarm, command) else notification_id(command.last_notification_id)
    if (title, body) == before and noted is None:
        return ()
    edited = AlarmEdited(
        page_id=alarm.page_id,
        user_id=alarm.user.user_id,
        title=title,
        body=body,
        notification_id=noted,
        next_alarm_time=moment_at(alarm.next_s),
        sent_count=alarm.sent_count,
    )
    return (edited,)


def _schedule(command: AlarmRow, state: Reminders, now: datetime) -> Sequence[Event]:
    alarm, time = state.alarms[command.page_id], command.next_alarm_time
    if time is None or seconds_of(time) == alarm.next_s:
        return ()
    if _means_now(time, now):
        title, body = unpack(alarm.text)
        due = time.astimezone(UTC)
        return (AlarmRenewed(alarm.page_id, alarm.user.user_id, title, body, due, alarm.sent_count),)
    return scheduled(state, alarm, wall_of(time, alarm.user.timezone), now)


def _claim(command: AlarmRow, policy: Policy, state: Reminders, now: datetime) -> Sequence[Event]:
    assert command.processed_at is not None
    alarm, processed_at = state.alarms[command.page_id], command.processed_at.astimezone(UTC)
    recover_at = _recover_at(processed_at, now, policy)
    if not _is_claimed(alarm, now):
        return (claim(alarm, OUTSIDE, recover_at, processed_at=processed_at),)
    about = (alarm.page_id, alarm.user.user_id, alarm.sent_count, alarm.life, alarm.attempt)
    return (ClaimGivenUp(*about, processed_at, recover_at),)


def _release(command: AlarmRow, policy: Policy, state: Reminders, now: datetime) -> Sequence[Event]:
    """End a claim after an error. Our sender then waits before it takes the alarm, as after its own failures."""
    alarm = state.alarms[command.page_id]
    if not alarm.dispatched:
        return ()
    about = (alarm.page_id, alarm.user.user_id, alarm.sent_count, alarm.life, alarm.attempt)
    failed = SendingFailed(
        *about,
        permanent=False,
        code=RELEASED,
        error="",
        retry_at=now + policy.retry_after(alarm.attempt),
        next_alarm_time=moment_at(alarm.next_s),
        shift_min=alarm.shift_min,
    )
    return (failed,)


def _send(command: AlarmRow, policy: Policy, state: Reminders, now: datetime) -> Sequence[Event]:
    alarm = state.alarms[command.page_id]
    spot = _following(alarm, command.next_alarm_time, policy, now)
    return sent(state, alarm, alarm.attempt, notification_id(command.last_notification_id), spot, now)


def _end_notice(command: AlarmRow, state: Reminders, now: datetime) -> Sequence[Event]:
    alarm = state.alarms[command.page_id]
    return (deletion(alarm),) if alarm.page_id in state.once else ()


def _following(alarm: Alarm, written: datetime | None, policy: Policy, now: datetime) -> Spot:
    """Find the alarm's next time: the one that the user has set meanwhile, else the one that the sender wrote, else the
    time after the regular pause."""
    if written is None or alarm.moved:
        return following_spot(alarm, policy, now)
    return find_spot(alarm.user, alarm, wall_of(written, alarm.user.timezone), own_minute=alarm.minute)


def _too_far(command: AlarmRow, now: datetime) -> Rejection | None:
    return None if command.next_alarm_time is None else too_far_ahead(command.next_alarm_time, now)


def _unknown(page_id: str) -> Decision:
    return reject(Code.NOT_FOUND, "Alarm not found", page_id=page_id)


def _moved_on(alarm: Alarm) -> Rejection:
    return Rejection(Code.CONFLICT, "This alarm has changed in the meantime", {"page_id": alarm.page_id})
