"""Alerts are raised once for each kind and subject, and are over when what they are about is over.

Those of jobs, PCs and untaken offers stand with what they follow from; here is what all have in common.
"""

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import ReportThrottled
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import D1, D2, NOBODY, at, farm, told


@pytest.mark.req("DF-19")
def test_a_device_whose_requests_are_stopped_is_an_alert_for_five_minutes():
    scenario = given(FLEET, *farm(1)).when(ReportThrottled(D1)).then(AlertRaised)
    (alert,) = told(scenario, AlertRaised)
    assert (alert.kind, alert.subject, alert.until) == ("rate_limited", D1, at(minutes=5))
    assert alert.details == {"serial_number": "SERIAL0001", "pc_id": "pc1"}
    scenario.after(minutes=5, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(AlertResolved(alert.alert_id, "rate_limited", D1, "time"))
    assert scenario.state.alerts == {}


@pytest.mark.req("DF-19")
def test_an_open_alert_is_not_raised_again():
    scenario = (
        given(FLEET, *farm(1)).when(ReportThrottled(D1)).after(minutes=1).when(ReportThrottled(D1)).then_nothing()
    )
    scenario.after(minutes=4).ticked().then(AlertResolved)
    scenario.when(ReportThrottled(D1)).then(AlertRaised)


def test_two_devices_have_an_alert_each_and_every_alert_an_id_of_its_own():
    scenario = given(FLEET, *farm(2)).when(ReportThrottled(D1))
    ids = [told(scenario, AlertRaised)[0].alert_id]
    scenario.when(ReportThrottled(D2))
    ids += [told(scenario, AlertRaised)[0].alert_id]
    scenario.after(minutes=5).ticked().when(ReportThrottled(D1))
    ids += [told(scenario, AlertRaised)[0].alert_id]
    assert len(set(ids)) == 3


def test_an_unknown_device_raises_no_alert():
    given(FLEET).when(ReportThrottled(NOBODY)).then_rejected(Code.NOT_FOUND, device_id=NOBODY)
