"""Decides about users: their rows in `user_info`, which hold their time zones."""

from __future__ import annotations

from datetime import datetime

from drover.domain.decider import Decision, accept, answer, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.reminder.commands import AddUser, RemoveUser, SetTimezone
from drover.domain.reminder.events import TimezoneSet, UserAdded, UserRemoved
from drover.domain.reminder.policy import Policy
from drover.domain.reminder.state import Reminders


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


def _unknown(user_id: str) -> Decision:
    return reject(Code.NOT_FOUND, "user_info has no row of this user", user_id=user_id)


def _moved_on(user_id: str) -> Decision:
    return reject(Code.CONFLICT, "The time zone of this user has changed in the meantime", user_id=user_id)
