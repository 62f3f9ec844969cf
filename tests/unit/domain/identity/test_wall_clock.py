"""Sessions expire at their date by the wall clock; what lasts "ten seconds" or "an hour" follows the time that
passes."""

from datetime import timedelta

import pytest

from drover.domain.alerts import AlertRaised
from drover.domain.errors import Code
from drover.domain.event import TermStarted
from drover.domain.identity import IDENTITY
from drover.domain.identity import events as e
from drover.domain.identity.commands import EndSession
from drover.domain.identity.policy import ENDED_KEPT, GRACE
from drover.testing.scenario import given
from tests.unit.domain.identity.world import IDLE_S, S1, created, refresh, signed_in, start

pytestmark = pytest.mark.req("YR-13")

DAY_S = 86_400.0


def set_back(scenario):
    """A new term after the clock was set back by a day."""
    return scenario.given(TermStarted(2, "w", ahead_s=DAY_S))


def test_a_new_session_expires_at_a_date_of_the_wall_clock():
    scenario = set_back(given(IDENTITY, created())).when(start())
    (started,) = scenario.decision.events
    assert started.expires_at == scenario.now - timedelta(seconds=DAY_S) + timedelta(seconds=IDLE_S)


def test_a_session_does_not_expire_a_day_early():
    scenario = signed_in().after(days=1)
    set_back(scenario)  # it is noon of the first day again
    scenario.after(seconds=IDLE_S - 1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(e.SessionEnded)


def test_an_ended_session_is_forgotten_in_its_time():
    scenario = set_back(signed_in().when(EndSession(S1, None, "signed_out")))
    scenario.after(seconds=ENDED_KEPT.total_seconds() - 1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(e.SessionArchived)


def test_a_used_token_is_not_accepted_for_a_day():
    scenario = set_back(signed_in().when(refresh(0)))
    scenario.after(seconds=GRACE.total_seconds() + 1)
    scenario.when(refresh(0)).then_rejected(Code.CONFLICT, e.SessionEnded, AlertRaised)
