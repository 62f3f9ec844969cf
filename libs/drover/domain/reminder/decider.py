"""The decider of reminders: which rule decides which command. Pure; a decision's cost does not grow with the alarms."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from drover.domain import alert_handling
from drover.domain.alerts import expire_alert
from drover.domain.decider import NOTHING, Decider, Decision, Tick, accept
from drover.domain.limited_callers import ReportLimited, report_limited
from drover.domain.quota import within_quota
from drover.domain.reminder import commands as c
from drover.domain.reminder.alarm_rows import add_alarm, change_alarm, delete_alarm
from drover.domain.reminder.answers import answer
from drover.domain.reminder.events import ReminderEvent
from drover.domain.reminder.evolution import evolve
from drover.domain.reminder.image import ReminderImage, from_image, to_image
from drover.domain.reminder.notices import ends_notice, notify
from drover.domain.reminder.policy import CONTEXT, Policy
from drover.domain.reminder.registration import delete_pages, register_by_page, schedule
from drover.domain.reminder.sending import claim_due, report_failed, report_sent, report_unknown
from drover.domain.reminder.state import Reminders
from drover.domain.reminder.subscriptions import add_subscription, change_fetch_limit, remove_subscription
from drover.domain.reminder.users import add_user, erase_user, refuse_erased, remove_user, set_timezone
from drover.domain.reminder.validation import validate
from drover.domain.wall_clock import deadline_on_wall_clock, on_wall_clock


def next_deadline(state: Reminders) -> datetime | None:
    """Return when the next alert expires. A due alarm needs no tick: it waits until a sender claims it."""
    first = state.timers.first()
    return None if first is None else first[0]


def tick(state: Reminders, command: object, now: datetime, policy: Policy) -> Decision:
    first = state.timers.first()
    if first is None or first[0] > now:
        return NOTHING
    return accept(*expire_alert(state, first[1].partition(":")[2]))


def _without_policy(rule: Callable[[Any, Any, datetime], Decision]) -> Callable[..., Decision]:
    return lambda state, command, now, policy: rule(state, command, now)


_DECIDE: Final[dict[type, Callable[[Reminders, Any, datetime, Policy], Decision]]] = {
    c.RegisterByPage: within_quota(register_by_page),
    c.Notify: notify,
    c.Schedule: within_quota(schedule),
    c.SetTimezone: within_quota(set_timezone),
    c.AddUser: add_user,
    c.RemoveUser: remove_user,
    c.EraseUser: erase_user,
    c.AddAlarm: add_alarm,
    c.ChangeAlarm: change_alarm,
    c.DeleteAlarm: delete_alarm,
    c.DeletePages: delete_pages,
    c.ClaimDue: claim_due,
    c.ReportSent: ends_notice(report_sent),
    c.ReportFailed: ends_notice(report_failed),
    c.ReportUnknown: ends_notice(report_unknown),
    c.AddSubscription: within_quota(add_subscription),
    c.RemoveSubscription: remove_subscription,
    c.ChangeFetchLimit: change_fetch_limit,
    ReportLimited: lambda state, command, now, policy: report_limited(state, command, now),
    **{command: _without_policy(rule) for command, rule in alert_handling.RULES.items()},
    Tick: tick,
}


def reminder_decider(policy: Policy) -> Decider[Reminders]:
    """Make the decider with an operator's policy. Only decisions use the policy: the state of a log does not depend on
    it."""

    def decide(state: Reminders, command: c.ReminderCommand, now: datetime) -> Decision:
        refusal = validate(command) or refuse_erased(state, command)
        if refusal is not None:
            return Decision(rejection=refusal)
        return _DECIDE[type(command)](state, command, now, policy)

    return Decider(
        context=CONTEXT,
        initial=Reminders,
        decide=on_wall_clock(decide),
        evolve=evolve,
        next_deadline=deadline_on_wall_clock(next_deadline),
        answer=answer,
        commands=c.ReminderCommand,
        events=ReminderEvent,
        state=ReminderImage,
        to_image=to_image,
        from_image=from_image,
        image_migrations={
            "c0e485ba39d54049": None,
            "45359d08b73aad3c": None,
            "8c5e6fcf34dbb901": None,
            "6eeb64c805a5fc84": None,
        },
        erasures=lambda state: state.erased,
        version=1,
    )


REMINDER: Final = reminder_decider(Policy())
