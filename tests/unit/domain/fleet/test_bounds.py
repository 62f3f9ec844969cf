"""What is large by nature goes on in the next commands: no decision is too long or too big, for a real farm."""

from __future__ import annotations

import copy

import pytest

from drover.domain.decider import DECISION_BYTES_MAX, Command
from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import AssignJob, CancelJob, MarkOnline, MarkSilent, PauseJob, ResumeJob
from drover.domain.fleet.events import JobActivated, JobCompleted, PcHeld, StaleReportRefused, Target
from drover.domain.fleet.policy import FOLLOW_UP_EVENTS_MAX
from drover.domain.fleet.state import JobStatus
from drover.eventlog.codec import Codec
from drover.testing.scenario import NOON, Scenario, given
from tests.unit.domain.fleet.world import (
    D1,
    J1,
    J2,
    Work,
    begin,
    create,
    device_id,
    farm,
    in_hand,
    job_of,
    posted_id,
    registered,
    told,
    work_in_hand,
)

OWN_EVENTS_MAX = 8
"""What a command may record for itself, beside what follows."""


class Measured(Scenario):
    """A scenario that weighs each decision as the writer does: with the longest envelope that a real one has."""

    def __init__(self, *events) -> None:
        super().__init__(FLEET)
        self._wire = Codec.of(FLEET)
        self.largest = self.longest = 0
        self.given(*events)

    def when(self, command: Command) -> Measured:
        super().when(command)
        stamped = [copy.copy(event) for event in self.decision.events]
        for event in stamped:
            event.n, event.by, event.cause = 2**40, f"user:{D1}", f"{'0' * 32}~{'0' * 32}"
            event.trace = f"00-{'a' * 32}-{'b' * 16}-01"
        size = len(self._wire.encode(stamped))
        assert size <= DECISION_BYTES_MAX, f"{type(command).__name__}: {len(stamped)} events, {size} bytes"
        self.largest, self.longest = max(self.largest, size), max(self.longest, len(stamped))
        return self


def in_use(scenario) -> int:
    return sum(pc.in_use for pc in scenario.state.pcs.values())


@pytest.mark.req("OQ-04")
def test_a_job_for_ten_thousand_devices_on_500_pcs_is_supplied_bit_by_bit_and_taken_back_bit_by_bit():
    scenario = Measured(*farm(*[20] * 500)).when(create(J1))
    assert 0 < in_use(scenario) < 300  # nothing is fanned out at once
    scenario.ticked()
    assert in_use(scenario) == 10_000
    assert job_of(scenario).in_flight == 10_000
    scenario.when(CancelJob(J1))
    assert 9_000 < len(job_of(scenario).live) < 10_000
    scenario.ticked()
    assert in_use(scenario) == 0
    assert job_of(scenario).live == {}
    assert scenario.longest <= FOLLOW_UP_EVENTS_MAX + OWN_EVENTS_MAX


@pytest.mark.req("OQ-04", "DF-06")
def test_a_big_job_is_paused_and_resumed_and_no_slot_is_lost():
    scenario = Measured(*farm(*[20] * 50)).when(create(J1)).ticked()
    scenario.when(PauseJob(J1)).when(ResumeJob(J1)).ticked()  # resumed before all of it was taken back
    assert in_use(scenario) == 1_000
    scenario.when(PauseJob(J1)).ticked()
    assert in_use(scenario) == 0
    scenario.when(ResumeJob(J1)).ticked()
    assert in_use(scenario) == 1_000
    assert job_of(scenario).in_flight == 1_000


def test_the_next_job_has_its_turn_while_a_big_one_is_still_being_taken_back():
    scenario = Measured(*farm(*[20] * 20)).when(create(J1)).ticked().when(create(J2))
    scenario.when(CancelJob(J1)).ticked()
    assert job_of(scenario, J2).in_flight == 400
    assert in_use(scenario) == 400


def sent_everywhere(phones):
    """All have fetched what they were offered; the rest of a big job's withdrawal is still to come."""
    scenario = Measured(*farm(*[20] * (phones // 20), phones % 20)).when(create(J1)).ticked()
    for device in scenario.state.devices:
        scenario.when(work_in_hand(scenario, device).fetch())
    return scenario


@pytest.mark.req("DF-06", "OQ-02")
@pytest.mark.parametrize("ending", [CancelJob(J1), PauseJob(J1)], ids=["cancelled", "paused"])
def test_work_that_begins_while_the_rest_is_taken_back_does_not_stop_the_farm(ending):
    """One offer more than the command takes back; before the clock goes on, its agent says that it runs."""
    phones = FOLLOW_UP_EVENTS_MAX // 2 + 2
    scenario = sent_everywhere(phones).when(ending)
    (last,) = job_of(scenario).offered
    scenario.when(Work(id=last).runs())
    scenario.when(create(J2)).ticked()
    assert job_of(scenario, J2).status is JobStatus.ACTIVE
    assert in_use(scenario) == phones


def test_a_report_during_the_withdrawal_of_a_big_job_is_told_the_truth():
    scenario = sent_everywhere(200).when(CancelJob(J1))
    gone = next(iter(scenario.state.ended))
    scenario.when(Work(id=gone).completes()).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused)


@pytest.mark.req("DF-15")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x", id="latin"),
        pytest.param(
            "한",
            id="korean",
        ),
        pytest.param(
            "\x01",
            id="control characters",
        ),
    ],
)
def test_the_longest_report_that_ends_a_big_job_fits(text):
    scenario = Measured(*farm(*[20] * 16)).when(create(J1)).ticked()
    work = work_in_hand(scenario, D1)
    long = dict.fromkeys(("error_message", "screenshot_ref", "activity_stack"), text * 2000)
    scenario.when(work.fetch()).when(work.fails("VIDEO_UNAVAILABLE", farm_is_open=True, **long))
    assert job_of(scenario).status is JobStatus.DEACTIVATED


@pytest.mark.req("DF-02")
def test_a_job_for_a_thousand_devices_by_name_fits():
    devices = tuple(device_id(number) for number in range(1, 1_001))
    scenario = Measured(*farm(*[20] * 50)).when(create(J1, target=Target(device_ids=devices))).ticked()
    assert in_use(scenario) == 1_000


def test_a_thousand_waiting_assignments_are_cancelled_bit_by_bit():
    phones = [registered(device_id(number), f"pc{number % 10 + 1}") for number in range(1, 1_001)]
    scenario = Measured(*farm(*[0] * 10), *phones).when(create(J1))
    for number in range(1, 1_001):
        scenario.when(AssignJob(posted_id(number), J1, device_id(number)))
    scenario.when(CancelJob(J1))
    assert job_of(scenario).waiting
    scenario.ticked()
    assert job_of(scenario).waiting == {}
    assert scenario.longest <= FOLLOW_UP_EVENTS_MAX + OWN_EVENTS_MAX


@pytest.mark.req("OQ-06")
def test_two_thousand_timeouts_at_one_moment_fit():
    devices = [device_id(number) for number in range(1, 2_001)]
    scenario = begin(Measured(*farm(*[20] * 100)).when(create(J1)).ticked(), *devices)
    scenario.after(minutes=20).ticked()
    assert in_use(scenario) == 2_000
    assert {in_hand(scenario, device).run for device in devices} == {2}


@pytest.mark.req("DF-05")
def test_a_pc_that_loses_its_power_again_and_again_ends_its_work_and_nothing_is_left_in_flight():
    """Twenty phones fall silent together, come back together, for as long as the job has anything for them."""
    devices = [device_id(number) for number in range(1, 21)]
    scenario = Measured(*farm(20)).when(create(J1))
    for _ in range(8):
        for device in devices:
            if scenario.state.devices[device].assignment:
                begin(scenario, device)
        scenario.after(minutes=1)
        for device in devices:
            scenario.when(MarkSilent(device, NOON))
        for device in devices:
            scenario.when(MarkOnline(device))
    assert in_use(scenario) == 0
    assert job_of(scenario).in_flight == 0
    assert job_of(scenario).status in (JobStatus.PAUSED, JobStatus.COMPLETED)
    assert scenario.longest < 100


@pytest.mark.req("OQ-08")
def test_a_pc_of_twenty_phones_that_all_fail_is_one_alert():
    """Each job fails on two phones in the same way, so that no job is to blame."""
    scenario = Measured(*farm(20, 1))
    scenario.when(create(J1))
    codes = ["E1001", "E1002", "E1003", "E2004", "PLAYBACK_STALLED", "APP_CRASH", "E4001", "TASK_DEVICE_FAILED"]
    codes += ["NETWORK_LOST", "TIMEOUT"]
    phones = [device_id(number) for number in range(1, 21)]
    begin(scenario, *phones, device_id(21))
    held = []
    for place, device in enumerate(phones):
        for _ in range(3):
            if scenario.state.devices[device].assignment is None:
                break
            work, run = work_in_hand(scenario, device), in_hand(scenario, device).run
            if not scenario.state.devices[device].running:
                scenario.when(work.fetch(run))
            scenario.when(work.fails(codes[place // 2], run))
            held += told(scenario, PcHeld)
            if scenario.state.devices[device].assignment:
                due = in_hand(scenario, device).retry_due
                scenario.now = max(scenario.now, due)
                scenario.ticked()
    assert len(held) == 1
    assert [alert for alert in scenario.state.alerts if alert.startswith("host_failing")] == ["host_failing:pc1"]
    assert not [d for d in phones if scenario.state.devices[d].error]


def test_a_thousand_jobs_for_absent_devices_cost_a_new_one_nothing():
    absent = [Target(group_id=f"P9-G{number}") for number in range(998)]
    scenario = given(FLEET, *farm(1))
    for number, target in enumerate(absent, 10):
        scenario.when(create(f"11111111-0000-7000-8000-{number:012d}", target=target))
    scenario.when(create(J1))
    assert [activated.job_id for activated in told(scenario, JobActivated)] == [J1]
    begin(scenario, D1).when(work_in_hand(scenario, D1).completes())
    assert len(told(scenario, JobCompleted)) == 1
    assert len(scenario.decision.events) == 2
