"""Rows of users: tier and balance. No personal data."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from drover.domain.analysis import events as e
from drover.projection.projection import Tables, need
from drover.projection.rule import Rule, Rules
from drover.projector.analysis.keys import user_of
from drover.readmodel.analysis.users import USERS, UserRow


def _registered(tables: Tables, event: e.UserRegistered) -> None:
    tests = event.remaining_tests
    tables.put(
        USERS,
        UserRow(
            id=event.user_id,
            tier=event.tier,
            remaining_tests=tests,
            frozen=False,
            granted=tests,
            charged=0,
            refunded=0,
            created_at=event.at,
            updated_at=event.at,
        ),
    )


def _tier_changed(tables: Tables, event: e.UserTierChanged) -> None:
    tables.put(USERS, replace(need(tables, USERS, event.user_id), tier=event.tier, updated_at=event.at))


def _frozen(tables: Tables, event: e.UserFrozen) -> None:
    tables.put(USERS, replace(need(tables, USERS, event.user_id), frozen=True, updated_at=event.at))


def _unfrozen(tables: Tables, event: e.UserUnfrozen) -> None:
    tables.put(USERS, replace(need(tables, USERS, event.user_id), frozen=False, updated_at=event.at))


def _granted(tables: Tables, event: e.TestsGranted) -> None:
    user = need(tables, USERS, event.user_id)
    granted = user.granted + event.tests
    tables.put(USERS, replace(user, remaining_tests=event.remaining_tests, granted=granted, updated_at=event.at))


def _charged(tables: Tables, event: e.TestCharged) -> None:
    user = need(tables, USERS, event.user_id)
    charged = user.charged + 1
    tables.put(USERS, replace(user, remaining_tests=event.remaining_tests, charged=charged, updated_at=event.at))


def refunded(tables: Tables, event: e.TestRefunded) -> None:
    user = need(tables, USERS, event.user_id)
    given_back = user.refunded + 1
    tables.put(USERS, replace(user, remaining_tests=event.remaining_tests, refunded=given_back, updated_at=event.at))


def _nothing(tables: Tables, event: object) -> None:
    """Only shown in `events`; changes no row."""


_USER: Final = ((USERS, user_of),)

USER_RULES: Final[Rules] = {
    e.UserRegistered: Rule(_registered, lambda e: (e.user_id,)),
    e.UserTierChanged: Rule(_tier_changed, lambda e: (e.user_id,), _USER),
    e.UserFrozen: Rule(_frozen, lambda e: (e.user_id,), _USER),
    e.UserUnfrozen: Rule(_unfrozen, lambda e: (e.user_id,), _USER),
    e.TestsGranted: Rule(_granted, lambda e: (e.user_id,), _USER),
    e.TestCharged: Rule(_charged, lambda e: (e.test_id, e.user_id), _USER),
    e.UserNotificationRequested: Rule(_nothing, lambda e: (e.user_id, e.run_id)),
}
