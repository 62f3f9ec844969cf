"""Decides about subscriptions (ways to reach a user, with sealed secrets) and the fetch limit of claims."""

from __future__ import annotations

from datetime import datetime

from drover.domain.decider import Decision, accept, answer, reject
from drover.domain.errors import Code
from drover.domain.reminder.commands import AddSubscription, ChangeFetchLimit, RemoveSubscription
from drover.domain.reminder.events import FetchLimitChanged, SubscriptionAdded, SubscriptionRemoved
from drover.domain.reminder.policy import SUBSCRIPTIONS_PER_USER_MAX, Policy
from drover.domain.reminder.state import Reminders
from drover.domain.reminder.users import new_user


def add_subscription(state: Reminders, command: AddSubscription, now: datetime, policy: Policy) -> Decision:
    """Add a subscription. If the user has it already, replace its sealed keys, because browsers renew them."""
    known = state.subscriptions.get(command.user_id, {})
    if command.subscription_id not in known and len(known) >= SUBSCRIPTIONS_PER_USER_MAX:
        return reject(
            Code.CONFLICT,
            f"This user has {SUBSCRIPTIONS_PER_USER_MAX} subscriptions, which is the maximum",
            user_id=command.user_id,
        )
    new = new_user(state, command.user_id, policy)
    added = SubscriptionAdded(command.user_id, command.subscription_id, command.channel, command.sealed)
    return accept(*new, added)


def remove_subscription(state: Reminders, command: RemoveSubscription, now: datetime, policy: Policy) -> Decision:
    known = state.subscriptions.get(command.user_id, {}).get(command.subscription_id)
    if known is None:
        return reject(Code.NOT_FOUND, "Subscription not found", subscription_id=command.subscription_id)
    return accept(SubscriptionRemoved(command.user_id, known.subscription_id, known.channel, command.reason))


def change_fetch_limit(state: Reminders, command: ChangeFetchLimit, now: datetime, policy: Policy) -> Decision:
    if state.fetch_limit == command.fetch_limit:
        return answer({"fetch_limit": command.fetch_limit})
    return accept(FetchLimitChanged(command.fetch_limit))
