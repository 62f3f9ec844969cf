"""Checks of a command that need no state. HTTP services call them before they send the command."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from drover.domain.decider import Command, Rejection
from drover.domain.errors import Code
from drover.domain.reminder.commands import (
    AddAlarm,
    AddSubscription,
    AddUser,
    AlarmRow,
    ChangeAlarm,
    ChangeFetchLimit,
    ClaimDue,
    DeleteAlarm,
    DeletePages,
    EraseUser,
    Notify,
    RegisterByPage,
    RemoveSubscription,
    RemoveUser,
    ReportFailed,
    ReportUnknown,
    Schedule,
    SetTimezone,
)
from drover.domain.reminder.local_time import is_timezone
from drover.domain.reminder.policy import (
    CHANNELS,
    CODE_PATTERN,
    FETCH_LIMIT_MAX,
    ID_PATTERN,
    INSTANCE_CHARS_MAX,
    PAGES_PER_DELETION_MAX,
    SEALED_CHARS_MAX,
    SENT_COUNT_FIRST,
    SENT_COUNT_MAX,
    SUBSCRIPTION_ID_PATTERN,
    SUBSCRIPTIONS_PER_USER_MAX,
)

YEARS: Final = range(1970, 2200)
"""The years that a time may be in. Others are refused: they are mistakes, and some break date arithmetic."""

_PATTERNS: Final = {
    "page_id": re.compile(ID_PATTERN),
    "user_id": re.compile(ID_PATTERN),
    "subscription_id": re.compile(SUBSCRIPTION_ID_PATTERN),
    "code": re.compile(CODE_PATTERN),
}


def invalid(field: str, value: object, message: str) -> Rejection:
    return Rejection(Code.VALIDATION_ERROR, message, {"field": field, "value": value})


def validate(command: Command) -> Rejection | None:
    """Return why a command can never be accepted, or None."""
    check = _CHECKS.get(type(command))
    return None if check is None else check(command)


def _text(**fields: str) -> Rejection | None:
    for field, value in fields.items():
        # fullmatch, because `$` alone accepts a trailing line feed.
        if not (pattern := _PATTERNS[field]).fullmatch(value):
            return invalid(field, value[:200], f"{field} must match {pattern.pattern}")
    return None


def _register(command: RegisterByPage | Notify) -> Rejection | None:
    return _text(page_id=command.page_id, user_id=command.user_id)


def _schedule(command: Schedule) -> Rejection | None:
    if command.next_alarm_time.year not in YEARS:
        return _wrong_year("next_alarm_time", command.next_alarm_time)
    return _text(page_id=command.page_id, user_id=command.user_id)


def _wrong_year(field: str, time: datetime) -> Rejection:
    return invalid(field, time.isoformat(), f"{field} must be in the years {YEARS.start} to {YEARS.stop - 1}")


def _user(command: SetTimezone | AddUser) -> Rejection | None:
    if command.timezone is not None and not is_timezone(command.timezone):
        return invalid("timezone", command.timezone[:200], "timezone must be a name such as Asia/Seoul")
    return _text(user_id=command.user_id)


def _remove_user(command: RemoveUser | EraseUser) -> Rejection | None:
    return _text(user_id=command.user_id)


def _alarm_row(command: AlarmRow) -> Rejection | None:
    for field, time in (("next_alarm_time", command.next_alarm_time), ("processed_at", command.processed_at)):
        if time is None:
            continue
        if time.tzinfo is None:
            return invalid(field, time.isoformat(), f"{field} needs an offset, such as Z")
        if time.year not in YEARS:
            return _wrong_year(field, time)
    if command.sent_count is not None and not SENT_COUNT_FIRST <= command.sent_count <= SENT_COUNT_MAX:
        message = f"sent_count must be between {SENT_COUNT_FIRST} and {SENT_COUNT_MAX}"
        return invalid("sent_count", command.sent_count, message)
    return _text(page_id=command.page_id, user_id=command.user_id)


def _delete_alarm(command: DeleteAlarm) -> Rejection | None:
    return _text(page_id=command.page_id, user_id=command.user_id)


def _delete_pages(command: DeletePages) -> Rejection | None:
    if len(command.page_ids) > PAGES_PER_DELETION_MAX:
        return invalid("page_ids", len(command.page_ids), f"at most {PAGES_PER_DELETION_MAX} pages at once")
    for page_id in command.page_ids:
        if refusal := _text(page_id=page_id):
            return refusal
    return None if command.user_id is None else _text(user_id=command.user_id)


def _limit(field: str, value: int) -> Rejection | None:
    if 1 <= value <= FETCH_LIMIT_MAX:
        return None
    return invalid(field, value, f"{field} must be between 1 and {FETCH_LIMIT_MAX}")


def _claim(command: ClaimDue) -> Rejection | None:
    if len(command.instance) > INSTANCE_CHARS_MAX:
        return invalid("instance", command.instance[:200], f"instance has at most {INSTANCE_CHARS_MAX} characters")
    return _limit("limit", command.limit)


def _change_fetch_limit(command: ChangeFetchLimit) -> Rejection | None:
    return _limit("fetch_limit", command.fetch_limit)


def _report(command: ReportFailed | ReportUnknown) -> Rejection | None:
    return _text(code=command.code)


def _report_unknown(command: ReportUnknown) -> Rejection | None:
    if len(command.delivered) > SUBSCRIPTIONS_PER_USER_MAX:
        return invalid("delivered", len(command.delivered), f"at most {SUBSCRIPTIONS_PER_USER_MAX} subscriptions")
    for subscription_id in command.delivered:
        if refusal := _text(subscription_id=subscription_id):
            return refusal
    return _report(command)


def _add_subscription(command: AddSubscription) -> Rejection | None:
    if command.channel not in CHANNELS:
        return invalid("channel", command.channel[:200], f"channel must be one of {', '.join(CHANNELS)}")
    if len(command.sealed) > SEALED_CHARS_MAX:
        return invalid("subscription", len(command.sealed), f"subscription has at most {SEALED_CHARS_MAX} characters")
    return _text(user_id=command.user_id, subscription_id=command.subscription_id)


def _remove_subscription(command: RemoveSubscription) -> Rejection | None:
    return _text(user_id=command.user_id, subscription_id=command.subscription_id, code=command.reason)


_CHECKS: Final[dict[type[Command], Callable[[Any], Rejection | None]]] = {
    RegisterByPage: _register,
    Notify: _register,
    Schedule: _schedule,
    SetTimezone: _user,
    AddUser: _user,
    RemoveUser: _remove_user,
    EraseUser: _remove_user,
    AddAlarm: _alarm_row,
    ChangeAlarm: _alarm_row,
    DeleteAlarm: _delete_alarm,
    DeletePages: _delete_pages,
    ClaimDue: _claim,
    ChangeFetchLimit: _change_fetch_limit,
    ReportFailed: _report,
    ReportUnknown: _report_unknown,
    AddSubscription: _add_subscription,
    RemoveSubscription: _remove_subscription,
}
