"""Rows of users: tier and balance. They contain no personal data."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.analysis import events as e
from drover.projection.projection import Tables, change, need
from drover.projection.rule import Rule, Rules, change_no_row
from drover.projector.analysis.keys import user_of
from drover.readmodel.analysis.users import USERS, UserRow


def _registered(tables: Tables, event: e.UserRegistered) -> None:
    tests = event.remaining_tests
    row = UserRow(
        id=event.user_id,
        tier=event.tier,
        remaining_tests=tests,
        frozen=False,
        granted=tests,
        adjusted=0,
        charged=0,
        refunded=0,
        created_at=event.at,
        updated_at=event.at,
    )
    tables.put(USERS, row)


def _change(tables: Tables, event: Any, **fields: Any) -> None:
    change(tables, USERS, event.user_id, updated_at=event.at, **fields)


def _tier_changed(tables: Tables, event: e.UserTierChanged) -> None:
    _change(tables, event, tier=event.tier)


def _frozen(tables: Tables, event: e.UserFrozen) -> None:
    _change(tables, event, frozen=True)


def _unfrozen(tables: Tables, event: e.UserUnfrozen) -> None:
    _change(tables, event, frozen=False)


def _granted(tables: Tables, event: e.TestsGranted) -> None:
    granted = need(tables, USERS, event.user_id).granted + event.tests
    _change(tables, event, remaining_tests=event.remaining_tests, granted=granted)


def _adjusted(tables: Tables, event: e.TestsAdjusted) -> None:
    adjusted = need(tables, USERS, event.user_id).adjusted + event.tests
    _change(tables, event, remaining_tests=event.remaining_tests, adjusted=adjusted)


def _charged(tables: Tables, event: e.TestCharged) -> None:
    charged = need(tables, USERS, event.user_id).charged + 1
    _change(tables, event, remaining_tests=event.remaining_tests, charged=charged)


def refunded(tables: Tables, event: e.TestRefunded) -> None:
    given_back = need(tables, USERS, event.user_id).refunded + 1
    _change(tables, event, remaining_tests=event.remaining_tests, refunded=given_back)


_USER: Final = ((USERS, user_of),)

USER_RULES: Final[Rules] = {
    e.UserRegistered: Rule(_registered, lambda e: (e.user_id,)),
    e.UserTierChanged: Rule(_tier_changed, lambda e: (e.user_id,), _USER),
    e.UserFrozen: Rule(_frozen, lambda e: (e.user_id,), _USER),
    e.UserUnfrozen: Rule(_unfrozen, lambda e: (e.user_id,), _USER),
    e.TestsGranted: Rule(_granted, lambda e: (e.user_id,), _USER),
    e.TestsAdjusted: Rule(_adjusted, lambda e: (e.user_id,), _USER),
    e.TestCharged: Rule(_charged, lambda e: (e.test_id, e.user_id), _USER),
    e.UserNotificationRequested: Rule(change_no_row, lambda e: (e.user_id, e.run_id)),
}
