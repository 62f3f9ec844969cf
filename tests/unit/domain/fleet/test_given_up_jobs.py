"""Reports that no device can do a job: whose report counts, and how many it takes to end the job for all devices."""

import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import ReportPending, ResumeJob
from drover.domain.fleet.events import AttemptFailedFinal, JobDeactivated, JobNeedAdded
from drover.domain.fleet.state import AssignmentStatus, JobStatus
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import D1, D2, D3, J1, J2, Work, active, create, farm, in_hand, job_of, phone, told

ONE, TWO, THREE = Work(D1), Work(D2, number=2), Work(D3, number=3)
GONE = "VIDEO_UNAVAILABLE"
BLOCKED = "VIDEO_REGION_BLOCKED"


def three_run():
    return given(FLEET, *farm(3), *active(), *ONE.running(), *TWO.running(), *THREE.running())


def by_key(work, code=GONE):
    """A report under the device's own key, by an agent that knows no run."""
    return work.fails(code, run=None, as_device=work.device)


def forged(work, code=GONE):
    """A report under a key that everybody has, without the run."""
    return work.fails(code, run=None)


def read_by_the_edge(work, code=GONE):
    """A report under a key that everybody has; the run comes from the row that the edge read."""
    return work.fails(code, names_run=False)


# Whose report counts


@pytest.mark.req("SE-04")
@pytest.mark.parametrize("report", [forged, read_by_the_edge])
@pytest.mark.parametrize("code", [GONE, "E2001", BLOCKED, "E2002"])
def test_reports_that_anybody_may_have_sent_end_the_job_on_their_devices_only(report, code):
    scenario = three_run()
    for work in (ONE, TWO):
        scenario.when(report(work, code)).then(work.failed(code, blamed=False), work.final(code))
        assert scenario.state.ended[work.id].status is AssignmentStatus.FAILED
    assert job_of(scenario).status is JobStatus.ACTIVE
    assert phone(scenario, D3).running


@pytest.mark.req("SE-04", "DF-15")
@pytest.mark.parametrize("first", [by_key, Work.fails])
@pytest.mark.parametrize("second", [by_key, Work.fails])
def test_two_devices_end_the_job_each_by_its_own_key_or_with_its_run(first, second):
    scenario = three_run().when(first(ONE, GONE))
    scenario.then(ONE.failed(GONE, blamed=False), ONE.final(GONE, counts=True))
    assert job_of(scenario).status is JobStatus.ACTIVE
    scenario.when(second(TWO, GONE))
    scenario.then(TWO.failed(GONE, blamed=False), TWO.final(GONE, counts=True), JobDeactivated(J1, GONE))
    assert phone(scenario, D3).running  # a running attempt may finish


@pytest.mark.req("SE-04")
def test_a_report_that_does_not_count_is_no_second_one():
    scenario = three_run().when(ONE.fails(GONE)).when(forged(TWO))
    assert job_of(scenario).status is JobStatus.ACTIVE
    scenario.when(THREE.fails(GONE))
    assert job_of(scenario).status is JobStatus.DEACTIVATED


@pytest.mark.req("SE-04")
def test_gone_on_one_device_and_blocked_on_another_ends_the_job():
    scenario = three_run().when(ONE.fails(GONE)).when(TWO.fails(BLOCKED))
    assert [ended.rule for ended in told(scenario, JobDeactivated)] == [BLOCKED]


@pytest.mark.req("SE-04", "DI-09")
def test_an_agent_that_starts_again_after_the_report_counts_in_the_same_way():
    again = {"error_code": GONE, "progress_pct": 0}
    scenario = three_run().when(ONE.runs(None, **again)).when(TWO.runs(None, **again))
    assert job_of(scenario).status is JobStatus.ACTIVE
    scenario = three_run().when(ONE.runs(**again, names_run=True)).when(TWO.runs(None, **again, as_device=D2))
    assert job_of(scenario).status is JobStatus.DEACTIVATED


@pytest.mark.req("SE-04", "DF-16")
def test_a_forged_age_restriction_does_not_take_the_job_from_the_others():
    scenario = three_run().when(forged(ONE, "E2003"))
    assert [final.replaced for final in told(scenario, AttemptFailedFinal)] == [True]
    assert told(scenario, JobNeedAdded) == []
    scenario.when(TWO.fails("E2003"))
    assert [need.capability for need in told(scenario, JobNeedAdded)] == ["age_verified"]


# How many it takes


@pytest.mark.req("SE-04")
def test_with_the_farm_open_to_everybody_one_report_ends_the_job():
    scenario = three_run().when(ONE.fails(GONE, run=None, farm_is_open=True))
    scenario.then(ONE.failed(GONE, blamed=False), ONE.final(GONE, counts=True), JobDeactivated(J1, GONE))


@pytest.mark.req("SE-04")
def test_on_a_farm_of_one_device_its_report_ends_the_job():
    scenario = given(FLEET, *farm(1), *active(), *ONE.running()).when(ONE.fails(GONE))
    assert job_of(scenario).status is JobStatus.DEACTIVATED


@pytest.mark.req("SE-04")
def test_on_a_farm_of_one_device_a_forged_report_does_not_switch_the_job_off():
    scenario = given(FLEET, *farm(1), *active(), *ONE.running()).when(forged(ONE))
    assert told(scenario, JobDeactivated) == []
    assert job_of(scenario).status is JobStatus.COMPLETED  # no device is left


@pytest.mark.req("SE-04")
def test_one_device_that_reports_twice_is_one_device():
    scenario = three_run().when(ONE.fails(GONE)).when(ReportPending(ONE.id))
    scenario.when(ONE.fetch(2)).when(ONE.runs(2)).when(ONE.fails(GONE, 2))
    assert len(told(scenario, AttemptFailedFinal)) == 1
    assert job_of(scenario).status is JobStatus.ACTIVE


@pytest.mark.req("SE-04")
def test_a_report_no_longer_counts_after_its_device_tries_again():
    scenario = three_run().when(ONE.fails(GONE)).when(ReportPending(ONE.id)).when(TWO.fails(GONE))
    assert job_of(scenario).status is JobStatus.ACTIVE


@pytest.mark.req("SE-04", "DI-10")
def test_a_job_that_is_opened_again_needs_two_new_reports():
    scenario = three_run().when(ONE.fails(GONE)).when(TWO.fails(GONE)).when(ResumeJob(J1))
    scenario.when(THREE.fails(GONE))
    assert job_of(scenario).status is JobStatus.ACTIVE


@pytest.mark.req("SE-04")
def test_reports_about_one_job_do_not_count_for_another():
    scenario = three_run().when(create(J2)).when(ONE.fails(GONE)).when(TWO.completes()).when(THREE.completes())
    assert in_hand(scenario, D1).job_id == J2
    assert job_of(scenario, J2).given_up_by == {}
