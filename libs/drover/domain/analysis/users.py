"""Users: registration, and changes by the back office (tier, freeze, grant, a written balance)."""

from __future__ import annotations

from datetime import datetime

from drover.domain.analysis.commands import ChangeUser, RegisterUser, UserFence
from drover.domain.analysis.events import (
    TestsAdjusted,
    TestsGranted,
    UserFrozen,
    UserRegistered,
    UserTierChanged,
    UserUnfrozen,
)
from drover.domain.analysis.policy import REMAINING_MAX, TIER_DEFAULT, TIERS_MAX
from drover.domain.analysis.state import Analyses, User
from drover.domain.decider import Decision, accept, reject
from drover.domain.errors import Code
from drover.domain.event import Event


def unknown_user(user_id: str) -> Decision:
    return reject(Code.NOT_FOUND, "User not found", user_id=user_id)


def register_user(analyses: Analyses, command: RegisterUser, now: datetime) -> Decision:
    if command.user_id in analyses.users:
        return reject(Code.UNIQUE_VIOLATION, "This user is already registered", field="user_id", value=command.user_id)
    tier = TIER_DEFAULT if command.tier is None else command.tier
    frozen = [UserFrozen(command.user_id)] if command.frozen else []
    return _no_room(analyses, tier) or accept(
        UserRegistered(command.user_id, tier, command.remaining_tests or 0), *frozen
    )


def change_user(analyses: Analyses, command: ChangeUser, now: datetime) -> Decision:
    user = analyses.users.get(command.user_id)
    if user is None:
        return unknown_user(command.user_id)
    if not _matches(user, command.only_if):
        return reject(Code.CONFLICT, "The user has changed in the meantime", user_id=user.user_id)
    events: list[Event] = []
    if command.tier not in (None, user.tier):
        assert command.tier is not None
        if refusal := _no_room(analyses, command.tier):
            return refusal
        events.append(UserTierChanged(user.user_id, command.tier))
    if command.frozen not in (None, user.frozen):
        events.append(UserFrozen(user.user_id) if command.frozen else UserUnfrozen(user.user_id))
    if command.grant_tests is not None:
        remaining = user.remaining + command.grant_tests
        if remaining > REMAINING_MAX:
            message = f"A user can have at most {REMAINING_MAX} tests left"
            return reject(Code.CONFLICT, message, field="grant_tests", value=command.grant_tests)
        events.append(TestsGranted(user.user_id, command.grant_tests, remaining))
    if command.remaining_tests not in (None, user.remaining):
        assert command.remaining_tests is not None
        difference = command.remaining_tests - user.remaining
        events.append(TestsAdjusted(user.user_id, difference, command.remaining_tests))
    return accept(*events)


def _matches(user: User, fence: UserFence) -> bool:
    return (
        fence.tier in (None, user.tier)
        and fence.frozen in (None, user.frozen)
        and fence.remaining_tests in (None, user.remaining)
    )


def _no_room(analyses: Analyses, tier: str) -> Decision | None:
    if tier in analyses.tiers or len(analyses.tiers) < TIERS_MAX:
        return None
    return reject(Code.CONFLICT, f"{TIERS_MAX} tiers are in use, which is the maximum", field="tier", value=tier)
