"""Notices: messages that are sent to a user once. A notice is an alarm that is deleted after its sending."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from drover.domain.decider import NOTHING, Decision, accept
from drover.domain.reminder.commands import Notify, Report, ReportFailed, ReportSent
from drover.domain.reminder.events import AlarmDeleted, AlarmRegistered
from drover.domain.reminder.policy import SENT_COUNT_FIRST, Policy
from drover.domain.reminder.state import Alarm, Reminders, moment_at
from drover.domain.reminder.texts import cut
from drover.domain.reminder.users import new_user

TOLD_WITHIN: Final = timedelta(hours=24)
"""A notice that could not be sent within this time is dropped. The ids of deleted pages are remembered for longer, so a
repeated request never sends a notice again."""

Rule = Callable[[Reminders, Any, datetime, Policy], Decision]


def notify(state: Reminders, command: Notify, now: datetime, policy: Policy) -> Decision:
    if command.page_id in state.alarms or command.page_id in state.deleted:
        return NOTHING  # the notice still waits, or it was already sent or dropped
    if now - command.asked_at > TOLD_WITHIN:
        return NOTHING
    registered = AlarmRegistered(
        page_id=command.page_id,
        user_id=command.user_id,
        title=cut(command.title),
        body=cut(command.body),
        next_alarm_time=now,
        sent_count=SENT_COUNT_FIRST,
        life=1,
        once=True,
    )
    return accept(*new_user(state, command.user_id, policy), registered)


def ends_notice(rule: Rule) -> Rule:
    """Wrap a rule that decides a report about a sending: if the report shows that a notice was sent, or cannot be sent,
    the same decision deletes the notice."""

    def decide(state: Reminders, command: Report, now: datetime, policy: Policy) -> Decision:
        decision = rule(state, command, now, policy)
        alarm = state.alarms.get(command.page_id)
        if alarm is None or alarm.page_id not in state.once or decision.rejection is not None:
            return decision
        if not _is_over(command, alarm, now):
            return decision
        return accept(*decision.events, deletion(alarm))

    return decide


def deletion(alarm: Alarm) -> AlarmDeleted:
    return AlarmDeleted(alarm.page_id, alarm.user.user_id, alarm.life)


def _is_over(command: Report, alarm: Alarm, now: datetime) -> bool:
    if isinstance(command, ReportSent) or (isinstance(command, ReportFailed) and command.permanent):
        return True
    return now - moment_at(alarm.next_s) > TOLD_WITHIN
