"""A PC whose phones have all fallen silent is an alert, until one of them is heard again."""

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.event import TermStarted
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import ChangeDevice, MarkOffline, MarkOnline, MarkSilent, ResetDevice
from drover.domain.fleet.events import DeviceCameOnline, DeviceChanged, DeviceQuarantined, DeviceWentOffline
from drover.domain.fleet.policy import DEVICES_PER_PC_MAX
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    J1,
    at,
    begin,
    create,
    device_id,
    farm,
    pc,
    phone,
    registered,
    told,
)

OPEN = "host_silent:pc1"


def silent(*devices, farm_of=(3, 1)):
    scenario = given(FLEET, *farm(*farm_of))
    for device in devices:
        scenario.when(MarkOffline(device))
    return scenario


@pytest.mark.req("OQ-08")
def test_the_last_phone_of_a_pc_that_falls_silent_raises_an_alert_about_the_pc():
    scenario = silent(D1, D2).then(DeviceWentOffline)
    scenario.when(MarkOffline(D3)).then(DeviceWentOffline, AlertRaised)
    (alert,) = told(scenario, AlertRaised)
    assert (alert.kind, alert.subject, alert.details, alert.until) == ("host_silent", "pc1", {"devices": 3}, None)
    assert alert.message == "All 3 online phones of pc1 have fallen silent"


def test_busy_phones_that_lose_their_work_count_like_idle_ones():
    scenario = given(FLEET, *farm(2)).when(create(J1))
    begin(scenario, D1, D2).when(MarkSilent(D1)).when(MarkSilent(D2))
    assert list(scenario.state.alerts) == [OPEN]


def test_it_is_over_when_one_of_its_phones_is_heard_again():
    scenario = silent(D1, D2, D3)
    (alert,) = told(scenario, AlertRaised)
    over = AlertResolved(alert.alert_id, "host_silent", "pc1", "heard")
    scenario.when(MarkOnline(D2)).then(DeviceCameOnline(D2), over)
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline(D1))
    assert scenario.state.alerts == {}


def test_a_pc_that_vanishes_again_is_a_new_alert():
    scenario = silent(D1, D2, D3).when(MarkOnline(D2)).after(minutes=1).when(MarkOffline(D2))
    assert len(told(scenario, AlertRaised)) == 1


def test_one_phone_that_is_heard_speaks_for_its_pc():
    assert silent(D1, D2).state.alerts == {}


def test_a_phone_in_error_that_is_heard_speaks_for_its_pc():
    scenario = given(FLEET, *farm(3), DeviceQuarantined(D3, "OUT_OF_MEMORY", None, "needs_reset", None))
    scenario.when(MarkOffline(D1)).when(MarkOffline(D2))
    assert scenario.state.alerts == {}
    scenario.when(MarkOffline(D3))
    assert list(scenario.state.alerts) == [OPEN]


def test_one_phone_that_falls_silent_says_nothing_about_its_pc():
    assert silent(D1, farm_of=(1, 1)).state.alerts == {}


def test_phones_that_fell_silent_more_than_an_hour_ago_do_not_count():
    """They were given up: the last one that is left is one phone, not a PC."""
    scenario = silent(D1, D2).after(hours=1, seconds=1).when(MarkOffline(D3))
    assert scenario.state.alerts == {}


def test_phones_that_fall_silent_one_by_one_within_an_hour_count():
    scenario = silent(D1).after(minutes=30).when(MarkOffline(D2)).after(minutes=59).when(MarkOffline(D3))
    (alert,) = told(scenario, AlertRaised)
    assert alert.details == {"devices": 2}


def test_a_pc_whose_phones_were_never_online_is_no_alert():
    scenario = given(FLEET, pc(), registered(D1), registered(D2), TermStarted(1, "b"))
    scenario.when(MarkOffline(D1)).then_nothing()
    scenario.when(MarkSilent(D2)).then_nothing()


def test_phones_that_were_never_online_do_not_count():
    scenario = given(FLEET, *farm(1), registered(D2), registered(D3)).when(MarkOffline(D1))
    assert scenario.state.alerts == {}


def test_a_change_of_leader_is_no_alert_and_ends_none():
    scenario = given(FLEET, *farm(3), TermStarted(2, "b")).after(hours=2).ticked().then_nothing()
    scenario = silent(D1, D2, D3).given(TermStarted(2, "b")).after(hours=2).ticked()
    assert list(scenario.state.alerts) == [OPEN]


def test_a_phone_that_is_heard_and_moves_to_the_pc_ends_the_alert():
    scenario = silent(D1, D2, D3).when(ChangeDevice(device_id(4), pc_id="pc1"))
    scenario.then(DeviceChanged, AlertResolved)
    assert scenario.state.alerts == {}


def test_a_pc_that_all_silent_phones_have_left_is_no_alert_any_more():
    scenario = silent(D1, D2, farm_of=(2, 1)).when(ChangeDevice(D1, pc_id="pc2")).then(DeviceChanged)
    assert list(scenario.state.alerts) == [OPEN]
    scenario.when(ChangeDevice(D2, pc_id="pc2")).then(DeviceChanged, AlertResolved)
    assert told(scenario, AlertResolved)[0].reason == "moved"


def test_a_silent_phone_that_moves_to_another_pc_does_not_count_there():
    scenario = silent(D1, D2, farm_of=(2, 1)).when(ChangeDevice(D1, pc_id="pc2")).when(MarkOffline(device_id(3)))
    assert list(scenario.state.alerts) == [OPEN]


def test_a_silent_phone_that_changes_where_it_is_still_counts():
    scenario = silent(D1, farm_of=(2, 1)).when(ChangeDevice(D1, capabilities=["age_verified"])).when(MarkOffline(D2))
    assert list(scenario.state.alerts) == [OPEN]


def test_a_phone_that_moved_speaks_for_its_new_pc_and_no_more_for_the_old_one():
    mover = device_id(5)
    scenario = given(FLEET, *farm(2, 3)).when(ChangeDevice(mover, pc_id="pc1"))
    for device in (D1, D2, D3, device_id(4)):
        scenario.when(MarkOffline(device))
    assert list(scenario.state.alerts) == ["host_silent:pc2"]
    scenario.when(MarkOffline(mover))
    assert list(scenario.state.alerts) == ["host_silent:pc2", OPEN]


def test_a_reset_is_not_a_silence():
    """It is offline until it is heard next, which is a matter of seconds."""
    scenario = given(FLEET, *farm(2), DeviceQuarantined(D2, "OUT_OF_MEMORY", None, "needs_reset", None))
    scenario.when(MarkOffline(D1)).when(ResetDevice(D2))
    assert not phone(scenario, D2).alive
    assert OPEN not in scenario.state.alerts


def test_five_hundred_pcs_that_vanish_at_once_are_an_alert_each_within_the_bounds_of_a_decision():
    scenario = given(FLEET, *farm(*[20] * 500))
    for number in range(1, 10_001):
        scenario.when(MarkOffline(device_id(number), at()))  # a scenario checks the bounds of each decision
    assert {*scenario.state.alerts} == {f"host_silent:pc{number}" for number in range(1, 501)}


def test_the_largest_pc_that_vanishes_is_one_alert():
    scenario = given(FLEET, *farm(DEVICES_PER_PC_MAX))
    for number in range(1, DEVICES_PER_PC_MAX + 1):
        scenario.when(MarkOffline(device_id(number)))
    (alert,) = told(scenario, AlertRaised)
    assert alert.details == {"devices": DEVICES_PER_PC_MAX}
