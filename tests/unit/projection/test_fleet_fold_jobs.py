"""The fleet's fold, pure, in memory: jobs."""

from __future__ import annotations

import msgspec
import pytest

from drover.domain.fleet.events import (
    JobActivated,
    JobArchived,
    JobCancelled,
    JobCompleted,
    JobDeactivated,
    JobExpired,
    JobNeedAdded,
    JobPaused,
    JobResumed,
    JobReturned,
    SupplyAdvanced,
    Target,
)
from drover.readmodel.fleet.jobs import JOBS
from tests.unit.projection.checked_tables import minute
from tests.unit.projection.folding import JOB, folded, job_created


@pytest.mark.req("DF-02")
def test_a_new_job_has_all_that_its_client_said_and_waits_for_its_turn() -> None:
    job = folded(job_created(title=None, base_reward=2.5)).job
    assert (job.title, job.target_url, job.script_type) == (None, "https://youtu.be/x", "youtube_watch")
    assert (job.duration_min_pct, job.duration_max_pct) == (30, 90)
    assert (job.prob_like, job.prob_comment, job.prob_playlist, job.base_reward) == (50, 30, 10, 2.5)
    assert (job.status, job.is_active, job.needs, job.created_at) == ("created", True, [], minute(1))
    assert (job.activated_at, job.ended_at, job.end_reason) == (None, None, None)
    assert job.target is None


def test_a_job_may_be_created_inactive() -> None:
    job = folded(job_created(is_active=False)).job
    assert (job.status, job.is_active) == ("created", False)


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        (Target(group_id="P1-G1", count=5), {"group_id": "P1-G1", "count": 5}),
        (Target(device_ids=()), {"device_ids": []}),
        (Target(pc_id="pc-1"), {"pc_id": "pc-1"}),
    ],
)
def test_the_target_of_a_job_says_only_what_its_client_said(target, shown) -> None:
    job = folded(job_created(target=target)).job
    record = JOBS.to_record(job)
    assert msgspec.json.decode(record[JOBS.columns.index("target")]) == shown
    assert JOBS.from_record(record) == job


def test_an_active_job_shows_since_when_it_first_had_its_turn() -> None:
    assert (folded(job_created(), JobActivated(JOB)).job.status) == "active"
    job = folded(job_created(), JobActivated(JOB), JobReturned(JOB), JobActivated(JOB)).job
    assert (job.activated_at, job.updated_at) == (minute(2), minute(4))


def test_a_job_whose_devices_left_is_back_in_the_queue() -> None:
    job = folded(job_created(), JobActivated(JOB), JobReturned(JOB)).job
    assert (job.status, job.is_active, job.updated_at) == ("created", True, minute(3))


@pytest.mark.parametrize(("rule", "shown"), [(None, "admin"), ("UNKNOWN", "UNKNOWN")])
def test_a_paused_job_is_inactive_and_shows_what_for(rule, shown) -> None:
    job = folded(job_created(), JobActivated(JOB), JobPaused(JOB, "poison" if rule else "admin", rule)).job
    assert (job.status, job.is_active, job.paused_for, job.ended_at) == ("paused", False, shown, None)


def test_a_resumed_job_waits_for_its_turn_again() -> None:
    job = folded(job_created(is_active=False), JobPaused(JOB, "admin", None), JobResumed(JOB)).job
    assert (job.status, job.is_active, job.paused_for) == ("created", True, None)


@pytest.mark.req("DF-06")
@pytest.mark.parametrize(
    ("event", "status", "reason"),
    [
        (JobDeactivated(JOB, "VIDEO_UNAVAILABLE"), "deactivated", "VIDEO_UNAVAILABLE"),
        (JobDeactivated(JOB, None), "deactivated", "admin"),
        (JobCancelled(JOB), "cancelled", "admin"),
        (JobExpired(JOB), "expired", "time"),
        (JobCompleted(JOB, 3, 1, 2), "completed", "done"),
    ],
)
def test_an_ended_job_is_inactive_and_shows_how_and_when_it_ended(event, status, reason) -> None:
    job = folded(job_created(), JobActivated(JOB), event).job
    assert (job.status, job.is_active, job.ended_at, job.end_reason) == (status, False, minute(3), reason)


def test_a_completed_job_shows_how_many_devices_were_absent() -> None:
    assert folded(job_created(), JobCompleted(JOB, 0, 0, 2)).job.skipped == 2


def test_an_archived_job_stays_as_it_was() -> None:
    before = folded(job_created(), JobCancelled(JOB)).job
    assert folded(job_created(), JobCancelled(JOB), JobArchived(JOB)).job == before


def test_what_a_job_needs_is_added_to() -> None:
    job = folded(job_created(), JobNeedAdded(JOB, "age_verified"), JobNeedAdded(JOB, "premium")).job
    assert (job.needs, job.updated_at) == (["age_verified", "premium"], minute(3))


def test_the_look_for_devices_changes_nothing_that_clients_see() -> None:
    before = folded(job_created(), JobActivated(JOB)).job
    assert folded(job_created(), JobActivated(JOB), SupplyAdvanced(JOB, 16)).job == before
