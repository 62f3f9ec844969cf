"""Decides about sendings: alarms that are due are claimed, and their outcome is reported. The sending itself is done by
a service."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final

from drover.domain.alerts import raise_alert, resolve_alert
from drover.domain.decider import NOTHING, Decision, accept, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.reminder.alerts import PROVIDER, PUSH_FAILING
from drover.domain.reminder.commands import ClaimDue, Report, ReportFailed, ReportSent, ReportUnknown
from drover.domain.reminder.events import AlarmDispatched, AlarmSent, SendingFailed, SendingUncertain
from drover.domain.reminder.policy import (
    ERROR_CHARS_MAX,
    FAILURES_ALERT_AT,
    NOTIFICATION_ID_CHARS_MAX,
    REFUSALS_RETRIED_FOR,
    Policy,
)
from drover.domain.reminder.schedule import crowding, following_spot
from drover.domain.reminder.spacing import Spot
from drover.domain.reminder.state import Alarm, Reminders, moment_at, seconds_of

NO_SUBSCRIPTION: Final = "no_subscription"
"""Error code: the user has no subscription, so the reminder cannot be sent."""
NOT_BEGUN: Final = "not_begun"
"""Error code: the process that claimed the alarm stopped before it began to send."""
RELEASED: Final = "released"
"""Error code: a sender program of the users, which works through the table `alarm`, released its claim."""
TEXT_ERASED: Final = "text_erased"
"""Error code: the user was erased, so nobody can read the texts of the alarm."""
TEXT_UNREADABLE: Final = "text_unreadable"
"""Error code: the texts of the alarm cannot be opened, because of a missing key or damage."""
NOT_THE_PROVIDERS: Final = frozenset({NO_SUBSCRIPTION, NOT_BEGUN, RELEASED, TEXT_ERASED, TEXT_UNREADABLE})
"""Error codes that are not the provider's fault, so they raise no alert about it."""


def claim_due(state: Reminders, command: ClaimDue, now: datetime, policy: Policy) -> Decision:
    return Decision(then=partial(_claim_first, command, command.limit, policy))


def _claim_first(command: ClaimDue, left: int, policy: Policy, state: Reminders, now: datetime) -> Decision:
    """Claim the alarm that is due first. The next decision claims the next alarm, on the state after this claim, until
    `left` alarms are claimed or none is due."""
    first = state.first()
    if left == 0 or first is None or first[0] > seconds_of(now):
        return NOTHING
    claimed = claim(state.alarms[first[1]], command.instance, now + policy.recover_after)
    return accept(claimed, then=partial(_claim_first, command, left - 1, policy))


def claim(
    alarm: Alarm, instance: str, recover_at: datetime, *, processed_at: datetime | None = None
) -> AlarmDispatched:
    """Make the event of a claim. `processed_at`: the time that a sender program of the users wrote into the table
    `alarm`. None: our own sender claims the alarm."""
    return AlarmDispatched(
        page_id=alarm.page_id,
        user_id=alarm.user.user_id,
        sending=alarm.sent_count,
        life=alarm.life,
        attempt=alarm.attempt + 1,
        instance=instance,
        recover_at=recover_at,
        outside=processed_at is not None,
        processed_at=processed_at,
    )


def report_sent(state: Reminders, command: ReportSent, now: datetime, policy: Policy) -> Decision:
    """Record a successful sending. A late report, or one from an earlier claim, is accepted, too: the provider has sent
    the reminder."""
    alarm = _alarm_at(state, command)
    if alarm is None:
        return _stale(command)
    spot = following_spot(alarm, policy, now)
    return accept(*sent(state, alarm, command.attempt, notification_id(command.notification_id), spot, now))


def notification_id(given: str | None) -> str | None:
    """Shorten a provider's id of a notification. An empty id becomes None."""
    return (given or "")[:NOTIFICATION_ID_CHARS_MAX] or None


def sent(state: Reminders, alarm: Alarm, attempt: int, noted: str | None, spot: Spot, now: datetime) -> list[Event]:
    """Make the events of a successful sending. `noted`: the id of the notification. `spot`: the next time of the
    alarm."""
    event = AlarmSent(
        page_id=alarm.page_id,
        user_id=alarm.user.user_id,
        sending=alarm.sent_count,
        life=alarm.life,
        attempt=attempt,
        notification_id=noted,
        sent_count=alarm.sent_count + 1,
        next_alarm_time=spot.moment,
        shift_min=spot.shift_min,
    )
    works = resolve_alert(state, PUSH_FAILING, PROVIDER, "sent")
    return [event, *crowding(state, alarm, spot, now), *works]


def report_failed(state: Reminders, command: ReportFailed, now: datetime, policy: Policy) -> Decision:
    alarm = _alarm_at(state, command)
    if alarm is None or not _in_hand_of(alarm, command):
        return _stale(command)
    error = command.error[:ERROR_CHARS_MAX]
    about = (alarm.page_id, alarm.user.user_id, alarm.sent_count, alarm.life, command.attempt)
    refused_from = _refused_from(state, command)
    gives_up = refused_from is not None and policy.has_retried_for(
        REFUSALS_RETRIED_FOR, command.attempt, first=refused_from
    )
    if not (command.permanent or gives_up):
        retry_at = now + policy.retry_after(command.attempt)
        due = moment_at(alarm.next_s)
        failed = SendingFailed(
            *about,
            permanent=False,
            code=command.code,
            error=error,
            retry_at=retry_at,
            next_alarm_time=due,
            shift_min=alarm.shift_min,
            refused_from=refused_from,
        )
        return accept(failed, *_failing(state, command, now))
    # A retry would fail again, or has failed for a day, so give up: `sent_count` stays, and the next try is at the
    # regular time.
    spot = following_spot(alarm, policy, now)
    failed = SendingFailed(
        *about,
        permanent=True,
        code=command.code,
        error=error,
        retry_at=None,
        next_alarm_time=spot.moment,
        shift_min=spot.shift_min,
        refused_from=refused_from,
    )
    return accept(failed, *crowding(state, alarm, spot, now), *_failing(state, command, now))


def _refused_from(state: Reminders, command: ReportFailed) -> int | None:
    """Return the first of the attempts in a row, up to this one, that the receiver refused. None: this attempt failed
    in another way.

    Attempts that failed in other ways do not count. So a receiver that was unreachable for days still gets a full day
    of retries after its first refusal.
    """
    if not command.only_for_a_day:
        return None
    return min(state.refused.get(command.page_id, command.attempt), command.attempt)


def report_unknown(state: Reminders, command: ReportUnknown, now: datetime, policy: Policy) -> Decision:
    alarm = _alarm_at(state, command)
    if alarm is None or not _in_hand_of(alarm, command):
        return _stale(command)
    return accept(
        SendingUncertain(
            page_id=alarm.page_id,
            user_id=alarm.user.user_id,
            sending=alarm.sent_count,
            life=alarm.life,
            attempt=command.attempt,
            code=command.code,
            error=command.error[:ERROR_CHARS_MAX],
            delivered=list(command.delivered),
            recover_at=moment_at(alarm.wake_s),
        ),
        *_failing(state, command, now),
    )


def _alarm_at(state: Reminders, command: Report) -> Alarm | None:
    """Find the alarm of the report. None if the report is about a sending that is over."""
    alarm = state.alarms.get(command.page_id)
    if alarm is None or (alarm.sent_count, alarm.life) != (command.sending, command.life):
        return None
    return alarm


def _in_hand_of(alarm: Alarm, command: Report) -> bool:
    """Whether the report comes from the current claim. A failure is accepted only then, because a later claim may still
    succeed."""
    return alarm.dispatched and alarm.attempt == command.attempt


def _stale(command: Report) -> Decision:
    return reject(
        Code.STALE_ATTEMPT,
        "This sending is over, or another sender has claimed it",
        page_id=command.page_id,
        sending=command.sending,
        attempt=command.attempt,
    )


def _failing(state: Reminders, command: ReportFailed | ReportUnknown, now: datetime) -> list[Event]:
    if command.code in NOT_THE_PROVIDERS or state.failed_in_row + 1 < FAILURES_ALERT_AT:
        return []
    return raise_alert(
        state,
        PUSH_FAILING,
        PROVIDER,
        f"{FAILURES_ALERT_AT} reminders in a row could not be sent; the last one: {command.code}",
        now,
        code=command.code,
        error=command.error[:ERROR_CHARS_MAX],
    )
