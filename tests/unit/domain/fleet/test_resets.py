"""A phone whose error ends only when a person resets it is an alert, until somebody does or the error is undone."""

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import ClearCondition, MarkOffline, ResetDevice
from drover.domain.fleet.events import (
    AttemptFailed,
    AttemptFailedFinal,
    DeviceQuarantined,
    DeviceReleased,
    DeviceReset,
)
from drover.domain.fleet.policy import RULES, DeviceEffect
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import D1, D2, D3, FIVE_WORKS, active, farm, last_attempts, told

ONE, TWO, THREE, *_ = FIVE_WORKS
OPEN = f"needs_reset:{D1}"


def out_of_memory():
    scenario = given(FLEET, *farm(2), *active(), *ONE.running(), *TWO.running())
    return scenario.when(ONE.fails("E3002"))


@pytest.mark.req("DF-22")
def test_a_phone_that_needs_a_reset_is_an_alert_that_no_time_ends():
    scenario = out_of_memory().then(AttemptFailed, AttemptFailedFinal, DeviceQuarantined, AlertRaised)
    (alert,) = told(scenario, AlertRaised)
    assert (alert.kind, alert.subject, alert.until) == ("needs_reset", D1, None)
    assert alert.details == {"rule": "OUT_OF_MEMORY", "serial_number": "SERIAL0001", "pc_id": "pc1"}
    assert alert.message == "Device SERIAL0001 failed with OUT_OF_MEMORY and gets no work until somebody resets it"
    scenario.after(days=2).ticked()
    assert OPEN in scenario.state.alerts


def test_a_reset_ends_it():
    scenario = out_of_memory()
    (alert,) = told(scenario, AlertRaised)
    over = AlertResolved(alert.alert_id, "needs_reset", D1, "reset")
    scenario.when(ResetDevice(D1)).then(DeviceReset(D1), over)


def test_a_phone_that_falls_silent_still_needs_its_reset():
    scenario = out_of_memory().when(MarkOffline(D1))
    assert OPEN in scenario.state.alerts


def test_what_a_bad_job_did_to_phones_is_undone_and_so_are_their_alerts():
    scenario = last_attempts(3, pcs=3).when(ONE.fails("E3002", 3)).when(TWO.fails("E3002", 3))
    assert {*scenario.state.alerts} == {f"needs_reset:{device}" for device in (D1, D2)}
    scenario.when(THREE.fails("E3002", 3))
    assert [event.device_id for event in told(scenario, DeviceReleased)] == [D1, D2, D3]
    assert [key.partition(":")[0] for key in scenario.state.alerts] == ["poison_job"]


def test_whatever_else_says_that_the_condition_is_over_ends_it():
    scenario = out_of_memory().when(ClearCondition(D1, "needs_reset"))
    scenario.then(DeviceReleased, AlertResolved)


@pytest.mark.parametrize("rule", sorted({rule.name for rule in RULES.values()}))
def test_of_all_failures_those_that_need_a_reset_raise_it_at_once_and_no_others(rule):
    scenario = last_attempts(1, others=1).when(ONE.fails(rule, 3))
    needs_reset = RULES[rule].device is DeviceEffect.NEEDS_RESET
    assert (OPEN in scenario.state.alerts) is needs_reset
