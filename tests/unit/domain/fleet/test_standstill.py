"""What could make the farm stand still: work that waits for ever, deadlines that overtake, outages that are blamed."""

from __future__ import annotations

import pytest

from drover.domain.event import TermStarted
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import AssignJob, CancelJob, MarkOffline, MarkOnline, MarkSilent
from drover.domain.fleet.events import (
    AttemptCreated,
    DeviceHeld,
    JobArchived,
    SupplyAdvanced,
    Target,
)
from drover.domain.fleet.state import JobStatus
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    J1,
    Work,
    active,
    begin,
    create,
    device_id,
    farm,
    in_hand,
    job_of,
    pc,
    posted_id,
    registered,
    told,
)


def test_a_job_is_not_archived_before_all_of_it_has_been_taken_back():
    """Nobody led for a day while 400 assignments were being taken back."""
    phones = [registered(device_id(number), f"pc{number % 10 + 1}") for number in range(1, 401)]
    scenario = given(FLEET, *(pc(f"pc{number}") for number in range(1, 11)), *phones).when(create(J1))
    for number in range(1, 401):
        scenario.when(AssignJob(posted_id(number), J1, device_id(number)))
    scenario.when(CancelJob(J1))
    assert scenario.state.withdrawing
    scenario.after(hours=25).ticked()
    assert not told(scenario, JobArchived), "a day begins with the end of its last assignment"
    assert not scenario.state.assignments
    scenario.after(hours=24).ticked()
    assert told(scenario, JobArchived)
    assert not scenario.state.jobs


@pytest.mark.req("OQ-04")
def test_a_number_of_named_devices_replaces_what_was_taken_back():
    target = Target(device_ids=(D1, D2, D3), count=1)
    scenario = given(FLEET, *farm(3)).when(create(J1, target=target))
    (first,) = told(scenario, AttemptCreated)
    scenario.when(MarkOffline(first.device_id))
    (second,) = told(scenario, AttemptCreated)
    assert second.device_id != first.device_id


@pytest.mark.req("DF-08")
def test_a_device_that_is_named_twice_wakes_a_job_that_had_nobody():
    scenario = given(FLEET, *farm(2)).when(create(J1, target=Target(device_ids=(D1, D2), count=1)))
    begin(scenario, D1).when(MarkSilent(D1))
    assert job_of(scenario).status is JobStatus.CREATED
    scenario.when(AssignJob(posted_id(1), J1, D2)).ticked()
    assert in_hand(scenario, D2).job_id == J1


@pytest.mark.req("OQ-02")
def test_a_job_that_waits_for_one_lost_phone_does_not_make_every_arrival_search_the_farm():
    scenario = given(FLEET, *farm(1, 1, 1)).when(create(J1, target=Target(count=1)))
    lost = told(scenario, AttemptCreated)[0].device_id
    begin(scenario, lost).when(MarkSilent(lost))
    assert job_of(scenario).status is JobStatus.CREATED
    (other, _) = (device for device in (D1, D2, D3) if device != lost)
    scenario.when(MarkSilent(other)).when(MarkOnline(other))
    assert told(scenario, SupplyAdvanced) == []
    scenario.when(MarkOnline(lost)).ticked()
    assert in_hand(scenario, lost).job_id == J1


@pytest.mark.req("DF-04")
def test_an_outage_of_the_control_plane_is_not_blamed_on_the_phones():
    scenario = given(FLEET, *farm(1), *active(), *Work().offered()).after(minutes=2)
    scenario.given(TermStarted(2, "standby")).ticked()
    assert told(scenario, DeviceHeld) == []
    scenario.after(seconds=89).ticked()
    assert told(scenario, DeviceHeld) == []
    scenario.after(seconds=1).ticked()
    assert len(told(scenario, DeviceHeld)) == 1
