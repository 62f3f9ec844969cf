"""Rows of users and of their subscriptions."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.reminder.events import (
    FetchLimitChanged,
    SubscriptionAdded,
    SubscriptionRemoved,
    TimezoneSet,
    UserAdded,
    UserErased,
    UserRemoved,
)
from drover.projection.projection import Tables, change
from drover.projection.rule import Rule, Rules, change_no_row
from drover.readmodel.reminder import SUBSCRIPTIONS, USERS, SubscriptionRow, UserRow


def _user_of(event: Any) -> str:
    return str(event.user_id)


def _subscription_of(event: Any) -> tuple[str, str]:
    return event.user_id, event.subscription_id


def _added(tables: Tables, event: UserAdded) -> None:
    tables.put(USERS, UserRow(event.user_id, event.timezone, event.at, event.at))


def _timezone_set(tables: Tables, event: TimezoneSet) -> None:
    change(tables, USERS, event.user_id, timezone=event.timezone, updated_at=event.at)


def _removed(tables: Tables, event: UserRemoved) -> None:
    tables.delete(USERS, event.user_id)


def _subscribed(tables: Tables, event: SubscriptionAdded) -> None:
    known = tables.get(SUBSCRIPTIONS, _subscription_of(event))
    created_at = event.at if known is None else known.created_at
    row = SubscriptionRow(event.subscription_id, event.user_id, event.channel, created_at, event.at)
    tables.put(SUBSCRIPTIONS, row)


def _unsubscribed(tables: Tables, event: SubscriptionRemoved) -> None:
    key = _subscription_of(event)
    change(tables, SUBSCRIPTIONS, key, updated_at=event.at, ended_at=event.at, reason=event.reason)


def _entities(event: Any) -> tuple[str, ...]:
    return (event.user_id,)


_READS_SUBSCRIPTION: Final = ((SUBSCRIPTIONS, _subscription_of),)

USER_RULES: Final[Rules] = {
    UserAdded: Rule(_added, _entities),
    TimezoneSet: Rule(_timezone_set, _entities, ((USERS, _user_of),)),
    UserRemoved: Rule(_removed, _entities),
    UserErased: Rule(change_no_row, _entities),
    SubscriptionAdded: Rule(_subscribed, lambda e: (e.subscription_id, e.user_id), _READS_SUBSCRIPTION),
    SubscriptionRemoved: Rule(_unsubscribed, lambda e: (e.subscription_id, e.user_id), _READS_SUBSCRIPTION),
    FetchLimitChanged: Rule(change_no_row, lambda e: ()),
}
