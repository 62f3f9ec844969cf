"""Decides about users: their rows in `user_info`, which hold their time zones."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from drover.domain.decider import Command, Decision, Rejection, accept, answer, reject
from drover.domain.erasure import names_erased_key
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.reminder.commands import AddUser, EraseUser, RemoveUser, SetTimezone
from drover.domain.reminder.events import SubscriptionRemoved, TimezoneSet, UserAdded, UserErased, UserRemoved
from drover.domain.reminder.policy import Policy
from drover.domain.reminder.state import Reminders

ERASED: Final = "erased"
"""Why a subscription was removed: its user was erased."""


def new_user(state: Reminders, user_id: str, policy: Policy) -> list[Event]:
    """Make the event that adds the user, unless they have a row in `user_info`."""
    return [] if state.lists(user_id) else [UserAdded(user_id, policy.timezone_default)]


def set_timezone(state: Reminders, command: SetTimezone, now: datetime, policy: Policy) -> Decision:
    if not state.lists(command.user_id):
        return _unknown(command.user_id) if command.existing else accept(UserAdded(command.user_id, command.timezone))
    timezone = state.users[command.user_id].timezone
    if command.only_if not in (None, timezone):
        return _moved_on(command.user_id)
    if timezone == command.timezone:
        return answer({"user_id": command.user_id, "timezone": timezone})
    return accept(TimezoneSet(command.user_id, command.timezone))


def add_user(state: Reminders, command: AddUser, now: datetime, policy: Policy) -> Decision:
    if state.lists(command.user_id):
        timezone = state.users[command.user_id].timezone
        message = "user_info has a row of this user already"
        return reject(Code.UNIQUE_VIOLATION, message, user_id=command.user_id, timezone=timezone)
    return accept(UserAdded(command.user_id, command.timezone or policy.timezone_default))


def remove_user(state: Reminders, command: RemoveUser, now: datetime, policy: Policy) -> Decision:
    if not state.lists(command.user_id):
        return _unknown(command.user_id)
    if command.only_if not in (None, state.users[command.user_id].timezone):
        return _moved_on(command.user_id)
    return accept(UserRemoved(command.user_id, policy.timezone_default))


def erase_user(state: Reminders, command: EraseUser, now: datetime, policy: Policy) -> Decision:
    """Record the erasure, also of a user who is not known here: texts of deleted alarms are still in the log."""
    user_id = command.user_id
    subscriptions = state.subscriptions.get(user_id, {}).values()
    return accept(
        UserErased(user_id),
        *(SubscriptionRemoved(user_id, known.subscription_id, known.channel, ERASED) for known in subscriptions),
        *([UserRemoved(user_id, policy.timezone_default)] if state.lists(user_id) else []),
    )


def refuse_erased(state: Reminders, command: Command) -> Rejection | None:
    """Refuse texts that were sealed with a destroyed key: nobody could read them. The process that sealed them had the
    old key in memory, which it forgets within seconds. After that, the same request succeeds."""
    if not state.erased or not names_erased_key(
        state.erased, *(getattr(command, name, None) for name in ("title", "body", "sealed"))
    ):
        return None
    return Rejection(Code.UNAVAILABLE, "The user was erased a moment ago; try again in some seconds")


def _unknown(user_id: str) -> Decision:
    return reject(Code.NOT_FOUND, "user_info has no row of this user", user_id=user_id)


def _moved_on(user_id: str) -> Decision:
    return reject(Code.CONFLICT, "The time zone of this user has changed in the meantime", user_id=user_id)
