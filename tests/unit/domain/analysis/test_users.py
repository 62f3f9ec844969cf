"""Users, what they have left, and what the back office does with it."""

import pytest

from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import commands as c
from drover.domain.analysis import events as e
from drover.domain.analysis.policy import REMAINING_MAX, TIERS_MAX
from drover.testing.scenario import given
from tests.unit.domain.analysis.world import ANN, NOBODY, T1, registered, user_of, with_tests


@pytest.mark.req("SY-01")
def test_a_user_is_registered_with_what_they_have():
    (
        given(ANALYSIS)
        .when(c.RegisterUser(ANN, 3, "premium"))
        .then(e.UserRegistered(ANN, "premium", 3))
        .then_answers(id=ANN, remaining_tests=3, tier="premium", frozen=False)
    )


def test_a_user_is_registered_once():
    given(ANALYSIS, registered()).when(c.RegisterUser(ANN, 99)).then_rejected("23505", field="user_id")


@pytest.mark.parametrize("user_id", ["", "ann@example.com", "Ann Lee", "ann\n", "x" * 129])
@pytest.mark.req("SY-15")
def test_an_address_or_a_name_is_no_user_id(user_id):
    given(ANALYSIS).when(c.RegisterUser(user_id)).then_rejected("VALIDATION_ERROR", field="user_id")


@pytest.mark.parametrize("tests", [-1, REMAINING_MAX + 1])
def test_a_balance_has_bounds(tests):
    given(ANALYSIS).when(c.RegisterUser(ANN, tests)).then_rejected("VALIDATION_ERROR", field="remaining_tests")


def test_tests_are_granted():
    scenario = with_tests(T1).when(c.ChangeUser(ANN, grant_tests=5)).then(e.TestsGranted(ANN, 5, 14))
    scenario.then_answers(id=ANN, remaining_tests=14)
    assert user_of(scenario).remaining == 14


def test_no_more_are_granted_than_can_be_counted():
    scenario = given(ANALYSIS, registered(tests=1))
    scenario.when(c.ChangeUser(ANN, grant_tests=REMAINING_MAX)).then_rejected("CONFLICT", field="grant_tests")
    scenario.when(c.ChangeUser(ANN, grant_tests=0)).then_rejected("VALIDATION_ERROR", field="grant_tests")
    assert user_of(scenario).remaining == 1


def test_tier_and_freezing_change_and_what_is_the_same_is_no_event():
    scenario = given(ANALYSIS, registered())
    scenario.when(c.ChangeUser(ANN, tier="premium", frozen=True)).then(
        e.UserTierChanged(ANN, "premium"), e.UserFrozen(ANN)
    )
    scenario.then_answers(id=ANN, tier="premium", frozen=True)
    scenario.when(c.ChangeUser(ANN, tier="premium", frozen=True)).then_nothing()
    scenario.when(c.ChangeUser(ANN, frozen=False)).then(e.UserUnfrozen(ANN)).then_answers(frozen=False)


def test_an_unknown_user_cannot_be_changed():
    given(ANALYSIS).when(c.ChangeUser(NOBODY, tier="premium")).then_rejected("NOT_FOUND")


def test_tiers_are_bounded_in_number_and_one_that_nobody_has_makes_room():
    scenario = given(ANALYSIS, *(registered(f"user_{n}", tier=f"tier-{n}") for n in range(TIERS_MAX)))
    scenario.when(c.RegisterUser(ANN, tier="another")).then_rejected("CONFLICT", field="tier")
    scenario.when(c.ChangeUser("user_0", tier="another")).then_rejected("CONFLICT", field="tier")
    scenario.when(c.RegisterUser(ANN, tier="tier-1")).then(e.UserRegistered)
    scenario.when(c.ChangeUser("user_0", tier="tier-1")).then(e.UserTierChanged)
    scenario.when(c.ChangeUser(ANN, tier="another")).then(e.UserTierChanged)
