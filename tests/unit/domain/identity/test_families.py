"""Whatever people, tabs and thieves do, and however time passes: a family has one living token, and a copy ends it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.domain.alerts import AlertRaised
from drover.domain.errors import Code
from drover.domain.identity import IDENTITY
from drover.domain.identity import events as e
from drover.domain.identity.policy import GRACE, ROTATIONS_IN_GRACE_MAX
from drover.testing.scenario import NOON, Scenario
from tests.unit.domain.identity.world import IDLE_S, LIFETIME_S, refresh, signed_in, token

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("use"), st.integers(0, 40)),
        st.tuples(st.just("wait"), st.sampled_from([0.0, 1.0, 4.9, 5.1, 10.0, 10.001, 900.0, 86_400.0, 8 * 86_400.0])),
        st.tuples(st.just("tick"), st.just(0)),
    ),
    max_size=60,
)


class Family:
    """What must hold, kept beside the decider: which token lives, until when, and which spent ones are forgiven."""

    def __init__(self) -> None:
        self.scenario: Scenario = signed_in()
        self.living: int | None = 0
        self.issued = 0
        self.forgiven: dict[int, datetime] = {}
        self.ends_at = NOON + timedelta(seconds=LIFETIME_S)
        self.expires_at = NOON + timedelta(seconds=IDLE_S)

    def use(self, number: int) -> None:
        number = min(number, self.issued)  # the edge lets only tokens through that were issued
        scenario = self.scenario.when(refresh(number))
        if self.living is None:
            scenario.then_rejected(Code.NOT_FOUND)
        elif number == self.living:
            self._use_the_living_one(number)
        elif scenario.now <= self.forgiven[number]:
            scenario.then_nothing().then_answers(child=token(number + 1))
        else:
            scenario.then_rejected(Code.CONFLICT, e.SessionEnded, AlertRaised, reason="reuse")
            self.living = None

    def _use_the_living_one(self, number: int) -> None:
        scenario = self.scenario
        if sum(scenario.now <= until for until in self.forgiven.values()) >= ROTATIONS_IN_GRACE_MAX:
            scenario.then_rejected(Code.RATE_LIMITED)
            return
        scenario.then(e.RefreshRotated).then_answers(child=token(number + 1))
        self.living = self.issued = number + 1
        self.forgiven[number] = scenario.now + GRACE
        self.expires_at = min(scenario.now + timedelta(seconds=IDLE_S), self.ends_at)

    def wait(self, seconds: float) -> None:
        self.scenario.after(seconds=seconds)
        if self.scenario.now >= self.expires_at:
            self.living = None

    def tick(self) -> None:
        self.scenario.ticked()

    def check(self) -> None:
        sessions = self.scenario.state.sessions
        if self.living is not None:
            assert [session.digest for session in sessions.values()] == [token(self.living)]
        assert all(session.expires_at <= self.scenario.now for session in sessions.values() if self.living is None)


def live(family: Family, steps: list[tuple[str, float]]) -> None:
    for step, value in steps:
        if step == "use":
            family.use(int(value))
        elif step == "wait":
            family.wait(value)
        else:
            family.tick()
        family.check()


@pytest.mark.req("SY-13")
@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_a_family_has_at_most_one_living_token_and_a_replay_after_the_grace_ends_it(steps):
    live(Family(), steps)


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_in_the_end_nothing_is_left_of_a_family(steps):
    live(family := Family(), steps)
    family.scenario.after(days=40).ticked().after(days=2).ticked()
    state = family.scenario.state
    assert not state.sessions
    assert not state.ended
    assert not state.alerts
    assert all(not account.sessions for account in state.accounts.values())
    assert IDENTITY.next_deadline(state) is None
