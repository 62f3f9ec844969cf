"""Rows from live state: by the names of the read model, and with what the fleet knows of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    CancelJob,
    CreateJob,
    FireOverdue,
    MarkOnline,
    PauseJob,
    RegisterDevice,
    ReportCompleted,
    ReportFailed,
    ReportRunning,
    ResumeJob,
    SendAttempt,
)
from drover.gateway.rows import assignment_row, device_row, job_row, offer_row
from drover.readmodel.models import RELATIONS
from drover.testing.scenario import NOON, Scenario
from tests.unit.gateway.conftest import JOB
from tests.unit.gateway.office import device_id

PHONE = device_id(1)


@pytest.fixture
def fleet() -> Scenario:
    """A phone with an offer."""
    scenario = Scenario(FLEET)
    for command in (
        RegisterDevice(PHONE, "SERIAL0001", "P1-G1", "PC-01"),
        MarkOnline(PHONE),
        CreateJob(job_id=JOB, target_url="https://youtu.be/abc"),
    ):
        scenario.when(command)
    return scenario


def work(fleet: Scenario):
    return fleet.state.assignments[fleet.state.devices[PHONE].assignment]


def test_rows_have_the_columns_of_the_relations_in_their_order(fleet):
    assert list(device_row(fleet.state.devices[PHONE], None)) == list(RELATIONS["devices"].columns)
    assert list(job_row(fleet.state.jobs[JOB])) == list(RELATIONS["jobs"].columns)
    assert list(assignment_row(fleet.state, work(fleet))) == list(RELATIONS["job_assignments"].columns)
    offer = offer_row(fleet.state, work(fleet))
    assert offer.pop("jobs") == job_row(fleet.state.jobs[JOB])
    assert offer == assignment_row(fleet.state, work(fleet))


def test_an_assignment_from_offer_to_retry(fleet):
    row = assignment_row(fleet.state, work(fleet))
    assert (row["status"], row["run"], row["attempt"], row["assigned_at"]) == ("pending", 1, 1, NOON)
    assert (row["sent_at"], row["timeout_at"], row["pc_id"]) == (None, None, "PC-01")

    fleet.after(seconds=5).when(SendAttempt(row["id"], 1))
    row = assignment_row(fleet.state, work(fleet))
    assert (row["status"], row["sent_at"], row["updated_at"]) == ("pending", fleet.now, fleet.now)
    assert row["timeout_at"] == fleet.now + timedelta(minutes=20)

    fleet.after(seconds=5).when(ReportRunning(row["id"], 1, progress_pct=20))
    row = assignment_row(fleet.state, work(fleet))
    assert (row["status"], row["progress_pct"], row["started_at"]) == ("running", 20, fleet.now)

    fleet.when(ReportFailed(row["id"], 1, error_code="APP_CRASH", error_message="gone"))
    row = assignment_row(fleet.state, work(fleet))
    assert (row["status"], row["progress_pct"], row["retry_count"], row["attempt"]) == ("pending", 0, 1, 2)
    assert (row["error_code"], row["error_message"], row["timed_out"]) == ("APP_CRASH", "gone", False)
    assert (row["sent_at"], row["started_at"]) == (None, None), "those were of the attempt that is over"
    assert row["retry_due_at"] == fleet.now + timedelta(seconds=5)


def test_a_timeout_is_told_from_a_failure_of_that_name(fleet):
    assignment_id = work(fleet).assignment_id
    fleet.when(SendAttempt(assignment_id, 1)).when(ReportRunning(assignment_id, 1))
    fleet.after(minutes=20).when(FireOverdue())
    assert assignment_row(fleet.state, fleet.state.assignments[assignment_id])["timed_out"] is True


def test_a_device_in_error_says_by_which_rule_and_until_when(fleet):
    for run in (1, 2, 3):
        assignment_id = work(fleet).assignment_id
        fleet.when(SendAttempt(assignment_id, run)).when(ReportRunning(assignment_id, run))
        fleet.when(ReportFailed(assignment_id, run, error_code="APP_CRASH"))
        fleet.after(seconds=5).when(FireOverdue())
    row = device_row(fleet.state.devices[PHONE], NOON)
    assert (row["status"], row["error_code"], row["last_seen_at"]) == ("error", "APP_CRASH", NOON)
    assert row["error_until"] == fleet.now - timedelta(seconds=5) + timedelta(minutes=30)


def test_a_job_through_its_life(fleet):
    def shown(*columns: str) -> tuple:
        row = job_row(fleet.state.jobs[JOB])
        return tuple(row[column] for column in columns)

    assert shown("status", "is_active", "running", "activated_at") == ("active", True, 0, NOON)
    assignment_id = work(fleet).assignment_id
    fleet.when(SendAttempt(assignment_id, 1)).when(ReportRunning(assignment_id, 1))
    assert shown("running", "completed") == (1, 0)
    fleet.when(PauseJob(JOB))
    assert shown("status", "is_active", "paused_for") == ("paused", False, "admin")
    fleet.when(ResumeJob(JOB))
    assert shown("is_active", "paused_for") == (True, None)
    fleet.when(ReportCompleted(assignment_id, 1, progress_pct=100, actual_duration_sec=5))
    assert shown("status", "is_active", "running", "completed", "end_reason") == ("completed", False, 0, 1, "done")

    other = JOB.replace("a", "b")
    fleet.when(CreateJob(job_id=other, target_url="https://youtu.be/abc", is_active=False))
    assert job_row(fleet.state.jobs[other])["is_active"] is False
    fleet.when(CancelJob(other))
    row = job_row(fleet.state.jobs[other])
    assert (row["status"], row["end_reason"], row["ended_at"]) == ("cancelled", "admin", fleet.now)
