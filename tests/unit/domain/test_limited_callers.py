"""A caller that goes on although it is refused: one alert for an hour, and never many."""

from __future__ import annotations

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.analysis import ANALYSIS
from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.identity import IDENTITY
from drover.domain.limited_callers import OPEN_MAX, ReportLimited
from drover.domain.reminder import REMINDER
from drover.testing.scenario import given

pytestmark = pytest.mark.req("SE-05")


@pytest.fixture(params=[FLEET, IDENTITY, ANALYSIS, REMINDER], ids=lambda decider: decider.context)
def decider(request):
    return request.param


def test_it_is_named_in_an_alert_that_ends_by_itself(decider):
    scenario = given(decider).when(ReportLimited("user:kim")).then(AlertRaised)
    (alert,) = scenario.decision.events
    assert (alert.kind, alert.subject) == ("caller_limited", "user:kim")
    scenario.when(ReportLimited("user:kim")).then_nothing()
    scenario.after(hours=1).ticked().then(AlertResolved(alert.alert_id, "caller_limited", "user:kim", "time"))


def test_many_names_do_not_fill_the_log(decider):
    scenario = given(decider)
    for number in range(OPEN_MAX):
        scenario.when(ReportLimited(f"user:{number}")).then(AlertRaised)
    scenario.when(ReportLimited("user:another")).then_nothing()


def test_a_name_that_is_none_is_refused(decider):
    given(decider).when(ReportLimited("a b")).then_rejected(Code.VALIDATION_ERROR)
