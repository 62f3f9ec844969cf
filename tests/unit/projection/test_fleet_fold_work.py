"""The fleet's fold, pure, in memory: assignments, their attempts, and what these do to device and job."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from drover.domain.fleet.events import (
    AssignmentCancelled,
    AssignmentParked,
    AssignmentReopened,
    AssignmentRequested,
    AttemptCancelled,
    AttemptCreated,
    AttemptFailed,
    AttemptFailedFinal,
    AttemptProgressed,
    AttemptRolledBack,
    AttemptSent,
    AttemptStarted,
    AttemptSucceeded,
    AttemptTimedOut,
    JobCancelled,
    JobCompleted,
    JobDeactivated,
    JobExpired,
    JobReopened,
    RetryScheduled,
    StaleReportRefused,
)
from drover.domain.fleet.policy import TIMEOUT_MESSAGE
from drover.projector.fleet.attempts import HISTORIES
from drover.readmodel.fleet.jobs import JobRow
from tests.unit.projection.checked_tables import minute
from tests.unit.projection.folding import JOB, OTHER_WORK, PHONE, SEQ, WORK, with_work

IDS = (WORK, JOB, PHONE)


def created(run: int = 1, attempt: int = 1) -> AttemptCreated:
    return AttemptCreated(*IDS, run, attempt, "pc-1")


def sent(run: int = 1, attempt: int = 1) -> AttemptSent:
    return AttemptSent(*IDS, run, attempt, minute(25))


def started(run: int = 1, attempt: int = 1) -> AttemptStarted:
    return AttemptStarted(*IDS, run, attempt, 5, None, minute(26))


def running(run: int = 1, attempt: int = 1) -> list[Any]:
    """Three minutes: 4 to 6, the first time."""
    return [created(run, attempt), sent(run, attempt), started(run, attempt)]


def failed(attempt: int = 1, **fields: Any) -> AttemptFailed:
    return AttemptFailed(*IDS, attempt, attempt, "E3001", "APP_CRASH", "it fell", True, **fields)


def failed_final(attempt: int = 1, code: str = "E3001") -> AttemptFailedFinal:
    return AttemptFailedFinal(*IDS, attempt, attempt, code, "APP_CRASH", "three times", False)


def timed_out() -> AttemptTimedOut:
    return AttemptTimedOut(*IDS, 1, 1, TIMEOUT_MESSAGE, True)


def retry(attempt: int = 1, due: datetime | None = None) -> RetryScheduled:
    return RetryScheduled(*IDS, attempt, attempt, due)


def succeeded() -> AttemptSucceeded:
    return AttemptSucceeded(*IDS, 1, 1, minute(4), minute(6), 156, True, False, True, None)


def counters(job: JobRow) -> dict[str, int]:
    names = ("pending", "running", "retrying", "completed", "failed", "cancelled", "skipped")
    return {name: number for name in names if (number := getattr(job, name))}


@pytest.mark.req("DF-03")
def test_an_assignment_that_was_asked_for_by_name_waits_without_a_slot() -> None:
    tables = with_work(AssignmentRequested(*IDS))
    row = tables.assignment
    assert (row.status, row.phase, row.named, row.assigned_at) == ("pending", "waiting", True, None)
    assert (row.pc_id, row.run, row.attempt, row.retry_count, row.created_at) == ("pc-1", 0, 1, 0, minute(4))
    assert counters(tables.job) == {"pending": 1}
    assert (tables.device.assignment_id, tables.history) == (None, [])


def test_the_first_attempt_makes_the_assignment() -> None:
    tables = with_work(created())
    row = tables.assignment
    assert (row.status, row.phase, row.named) == ("pending", "offered", False)
    assert (row.run, row.attempt, row.assigned_at, row.created_at) == (1, 1, minute(4), minute(4))
    assert (tables.device.assignment_id, tables.device.running) == (UUID(WORK), False)
    assert counters(tables.job) == {"pending": 1}


def test_one_that_was_asked_for_by_name_is_supplied_later() -> None:
    row = with_work(AssignmentRequested(*IDS), created()).assignment
    assert (row.phase, row.named, row.created_at, row.assigned_at) == ("offered", True, minute(4), minute(5))


def test_a_delivered_assignment_is_still_pending_and_has_a_time_limit() -> None:
    tables = with_work(created(), sent())
    row = tables.assignment
    assert (row.status, row.phase, row.sent_at, row.timeout_at) == ("pending", "sent", minute(5), minute(25))
    assert counters(tables.job) == {"pending": 1}


def test_a_started_one_runs_and_its_device_is_busy() -> None:
    tables = with_work(*running())
    row = tables.assignment
    assert (row.status, row.phase, row.started_at, row.progress_pct) == ("running", "running", minute(6), 5)
    assert row.timeout_at == minute(26)
    assert (tables.device.running, tables.device.updated_at) == (True, minute(6))
    assert counters(tables.job) == {"running": 1}


def test_progress_and_advertisements_show() -> None:
    row = with_work(*running(), AttemptProgressed(*IDS, 1, 1, 40, True)).assignment
    assert (row.progress_pct, row.ad_playing, row.updated_at) == (40, True, minute(7))


def test_a_completed_one_shows_what_was_done_and_frees_its_device() -> None:
    tables = with_work(*running(), AttemptProgressed(*IDS, 1, 1, 40, True), succeeded())
    row = tables.assignment
    assert (row.status, row.progress_pct, row.completed_at, row.ad_playing) == ("completed", 100, minute(8), False)
    assert (row.actual_duration_sec, row.did_like, row.did_comment, row.did_playlist) == (156, True, False, True)
    assert (row.assigned_at, row.started_at, row.retry_count) == (minute(4), minute(6), 0)
    assert (tables.device.assignment_id, tables.device.running) == (None, False)
    assert counters(tables.job) == {"completed": 1}


def test_a_failure_uses_an_attempt_up_and_its_retry_keeps_the_slot() -> None:
    tables = with_work(*running(), failed(), retry(due=minute(30)))
    row = tables.assignment
    assert (row.status, row.phase, row.retry_count, row.attempt) == ("pending", "retrying", 1, 2)
    assert (row.error_code, row.error_message, row.timed_out) == ("E3001", "it fell", False)
    assert (row.retry_due_at, row.progress_pct, row.started_at, row.sent_at) == (minute(30), 0, None, None)
    assert (tables.device.assignment_id, tables.device.running) == (UUID(WORK), False)
    assert counters(tables.job) == {"retrying": 1}


def test_a_retry_that_waits_for_its_device_has_no_slot_and_is_a_retry_all_the_same() -> None:
    tables = with_work(*running(), failed(), retry(due=None))
    row = tables.assignment
    assert (row.status, row.phase, row.assigned_at, row.retry_due_at) == ("pending", "waiting", None, None)
    assert (row.attempt, row.retry_count, tables.device.assignment_id) == (2, 1, None)
    assert counters(tables.job) == {"retrying": 1}


def test_a_redelivery_starts_from_the_beginning_and_still_tells_of_the_last_failure() -> None:
    tables = with_work(*running(), failed(), retry(due=minute(30)), created(run=2, attempt=2))
    row = tables.assignment
    assert (row.phase, row.run, row.attempt, row.retry_count) == ("offered", 2, 2, 1)
    assert (row.assigned_at, row.created_at, row.retry_due_at) == (minute(9), minute(4), None)
    assert (row.progress_pct, row.sent_at, row.timeout_at, row.error_code) == (0, None, None, "E3001")
    assert counters(tables.job) == {"pending": 1}


def test_success_after_a_failure_leaves_no_error() -> None:
    row = with_work(*running(), timed_out(), retry(due=minute(30)), *running(2, 2), succeeded()).assignment
    assert (row.status, row.error_code, row.error_message, row.timed_out) == ("completed", None, None, False)
    assert row.retry_count == 1


def test_the_last_failure_is_final() -> None:
    tables = with_work(*running(1, 3), failed(3), failed_final(3))
    row = tables.assignment
    assert (row.status, row.attempt, row.retry_count, row.completed_at) == ("failed", 3, 3, minute(8))
    assert (row.error_code, row.error_message, row.timed_out) == ("E3001", "three times", False)
    assert row.progress_pct == 0
    assert (tables.device.assignment_id, tables.device.running) == (None, False)
    assert counters(tables.job) == {"failed": 1}


@pytest.mark.req("OQ-06")
def test_a_timeout_says_so_in_a_column_of_its_own_until_another_failure_says_otherwise() -> None:
    row = with_work(*running(), timed_out(), retry(due=minute(30))).assignment
    assert (row.timed_out, row.error_code, row.error_message) == (True, "TIMEOUT", TIMEOUT_MESSAGE)
    final = with_work(*running(), timed_out(), failed_final(code="TIMEOUT")).assignment
    assert (final.status, final.timed_out) == ("failed", True)
    again = with_work(*running(), timed_out(), retry(due=minute(30)), *running(2, 2), failed(2), retry(2)).assignment
    assert (again.timed_out, again.error_code) == (False, "E3001")


def test_work_that_was_lost_with_its_network_uses_no_attempt_up_and_waits() -> None:
    tables = with_work(*running(), AttemptRolledBack(*IDS, 1, 1, "silent"))
    row = tables.assignment
    assert (row.status, row.phase, row.assigned_at, row.retry_count, row.attempt) == ("pending", "waiting", None, 0, 1)
    assert (row.reason, row.progress_pct, row.started_at, row.timeout_at) == ("silent", 0, None, None)
    assert (tables.device.assignment_id, tables.device.running, tables.device.updated_at) == (None, False, minute(7))
    assert counters(tables.job) == {"pending": 1}


def test_an_offer_that_was_taken_back_leaves_a_cancelled_assignment() -> None:
    tables = with_work(created(), AttemptCancelled(*IDS, 1, 1, "untaken"), AssignmentCancelled(*IDS, "untaken"))
    row = tables.assignment
    assert (row.status, row.reason, row.completed_at) == ("cancelled", "untaken", minute(6))
    assert tables.device.assignment_id is None


TAKEN_BACK = (created(), AttemptCancelled(*IDS, 1, 1, "untaken"), AssignmentCancelled(*IDS, "untaken"))


def test_a_phone_whose_offer_was_taken_back_counts_nowhere_until_the_job_comes_to_it_again() -> None:
    assert counters(with_work(*TAKEN_BACK).job) == {}
    again = AttemptCreated(OTHER_WORK, JOB, PHONE, 1, 1, "pc-1")
    assert counters(with_work(*TAKEN_BACK, again).job) == {"pending": 1}


def test_a_phone_whose_offer_was_taken_back_and_that_never_got_another_is_skipped_and_nothing_else() -> None:
    assert counters(with_work(*TAKEN_BACK, JobCompleted(JOB, 0, 0, 1)).job) == {"skipped": 1}


@pytest.mark.parametrize(
    "lost",
    [[AttemptRolledBack(*IDS, 1, 1, "silent")], [failed(), retry()]],
    ids=["rolled back", "to be retried"],
)
def test_a_phone_that_is_away_when_its_job_is_completed_is_counted_once(lost: list[Any]) -> None:
    ended = [*running(), *lost, JobCompleted(JOB, 0, 0, 1)]
    assert sum(counters(with_work(*ended).job).values()) == 1
    assert counters(with_work(*ended, AssignmentCancelled(*IDS, "completed")).job) == {"skipped": 1}


@pytest.mark.parametrize("end", [JobCancelled(JOB), JobExpired(JOB), JobDeactivated(JOB, None)])
def test_a_phone_that_loses_its_assignment_with_its_job_counts_as_cancelled(end: Any) -> None:
    taken_back = [AttemptCancelled(*IDS, 1, 1, "ended"), AssignmentCancelled(*IDS, "ended")]
    assert counters(with_work(created(), end, *taken_back).job) == {"cancelled": 1}


def test_a_parked_one_waits_and_keeps_its_attempts() -> None:
    tables = with_work(*running(), failed(), retry(due=minute(30)), AssignmentParked(*IDS, "job_paused"))
    row = tables.assignment
    assert (row.status, row.phase, row.assigned_at, row.retry_due_at) == ("pending", "waiting", None, None)
    assert (row.reason, row.attempt, row.retry_count) == ("job_paused", 2, 1)
    assert tables.device.assignment_id is None
    assert counters(tables.job) == {"retrying": 1}
    assert with_work(AssignmentRequested(*IDS), AssignmentParked(*IDS, "x"), created()).assignment.reason is None


def test_one_that_waits_can_be_cancelled_without_touching_what_its_device_has_in_hand() -> None:
    other = AttemptCreated(OTHER_WORK, JOB, PHONE, 1, 1, "pc-1")
    tables = with_work(AssignmentRequested(*IDS), other, AssignmentCancelled(*IDS, "admin"))
    assert tables.assignment.status == "cancelled"
    assert tables.device.assignment_id == UUID(OTHER_WORK)
    assert counters(tables.job) == {"pending": 1, "cancelled": 1}


def test_a_reopened_one_waits_for_its_next_attempt() -> None:
    tables = with_work(*running(), failed(), failed_final(), AssignmentReopened(*IDS))
    row = tables.assignment
    assert (row.status, row.phase, row.completed_at, row.attempt, row.retry_count) == ("pending", "waiting", None, 2, 1)
    assert row.named
    assert counters(tables.job) == {"retrying": 1}


def test_one_that_was_cancelled_with_its_job_is_counted_again_when_both_are_open_again() -> None:
    off = [JobDeactivated(JOB, None), AssignmentCancelled(*IDS, "deactivated")]
    tables = with_work(AssignmentRequested(*IDS), *off, JobReopened(JOB), AssignmentReopened(*IDS))
    row = tables.assignment
    assert (row.status, row.phase, row.completed_at, row.attempt, row.reason) == ("pending", "waiting", None, 1, None)
    assert counters(tables.job) == {"pending": 1}


def test_a_stale_report_changes_nothing_but_the_history() -> None:
    events = [*running(), AttemptRolledBack(*IDS, 1, 1, "silent"), created(run=2)]
    before = with_work(*events)
    after = with_work(*events, StaleReportRefused(*IDS, 1, 1, "completed", 2))
    assert (after.assignment, after.device, after.job) == (before.assignment, before.device, before.job)
    assert (after.history[-1]["event_type"], after.history[-1]["level"]) == ("STALE_REPORT", "warning")
    assert after.history[-1]["message"] == "reported completed, but the current run is 2"


@pytest.mark.parametrize("run", [-1, -(10**30), 2**31])
def test_a_run_that_no_assignment_ever_had_is_shown_as_none(run) -> None:
    """A stale report is written down with whatever run its agent gave; a column must be able to hold it."""
    assert with_work(created(), StaleReportRefused(*IDS, run, 1, "running", 1)).history[-1]["run"] == 0


def test_the_counters_of_a_job_add_up_whatever_happens() -> None:
    story = [
        *running(),
        failed(),
        retry(due=minute(30)),
        *running(2, 2),
        AttemptRolledBack(*IDS, 2, 2, "silent"),
        *running(3, 2),
        failed(2),
        failed_final(2),
        AssignmentReopened(*IDS),
        created(4, 3),
        AttemptCancelled(*IDS, 4, 3, "paused"),
        AssignmentCancelled(*IDS, "admin"),
    ]
    for end in range(1, len(story) + 1):
        assert sum(counters(with_work(*story[:end]).job).values()) == 1


# The history


@pytest.mark.req("EV-04", "OQ-09")
def test_every_event_of_an_attempt_is_a_row_of_the_history_with_its_number() -> None:
    tables = with_work(
        *running(),
        AttemptProgressed(*IDS, 1, 1, 10, False),
        timed_out(),
        retry(due=minute(30)),
        *running(2, 2),
        failed(2),
        retry(2),
        created(3, 3),
        AttemptCancelled(*IDS, 3, 3, "untaken"),
        *running(4, 3),
        AttemptRolledBack(*IDS, 4, 3, "silent"),
        *running(5, 3),
        failed(3),
        failed_final(3),
    )
    assert [(row["event_type"], row["attempt"], row["run"]) for row in tables.history] == [
        ("CREATED", 1, 1),
        ("SENT", 1, 1),
        ("ACKED", 1, 1),
        ("TIMEOUT", 1, 1),
        ("RETRY_SCHEDULED", 1, 1),
        ("CREATED", 2, 2),
        ("SENT", 2, 2),
        ("ACKED", 2, 2),
        ("FAILED", 2, 2),
        ("RETRY_SCHEDULED", 2, 2),
        ("CREATED", 3, 3),
        ("CANCELLED", 3, 3),
        ("CREATED", 3, 4),
        ("SENT", 3, 4),
        ("ACKED", 3, 4),
        ("ROLLED_BACK", 3, 4),
        ("CREATED", 3, 5),
        ("SENT", 3, 5),
        ("ACKED", 3, 5),
        ("FAILED", 3, 3),
        ("FAILED_FINAL", 3, 3),
    ]


def test_a_row_of_the_history_names_all_that_it_is_about_and_its_place_in_the_log() -> None:
    row = with_work(created()).history[0]
    assert (row["task_id"], row["task_device_id"], row["device_id"]) == (UUID(JOB), UUID(WORK), UUID(PHONE))
    assert (row["pc_id"], row["by"], row["created_at"], row["level"]) == ("pc-1", "service_role", minute(4), "info")
    assert row["id"] == (SEQ + 4) * 65_536


def test_the_history_tells_what_went_wrong_and_when_it_goes_on() -> None:
    tables = with_work(*running(), failed(), retry(due=minute(30)), *running(2, 2), timed_out(), failed_final())
    told = {row["event_type"]: row for row in tables.history}
    assert (told["FAILED"]["error_code"], told["FAILED"]["message"]) == ("E3001", "it fell")
    assert told["RETRY_SCHEDULED"]["due_at"] == minute(30)
    assert (told["TIMEOUT"]["error_code"], told["TIMEOUT"]["message"]) == ("TIMEOUT", TIMEOUT_MESSAGE)
    assert (told["FAILED_FINAL"]["message"], told["FAILED_FINAL"]["level"]) == ("three times", "error")


@pytest.mark.req("DF-30")
def test_what_a_stall_report_carries_is_kept_with_its_attempt() -> None:
    row = with_work(*running(), failed(screenshot_ref="shots/1.png", activity_stack="WatchActivity")).history[-1]
    assert (row["screenshot_ref"], row["activity_stack"]) == ("shots/1.png", "WatchActivity")


def test_success_is_in_the_history_too() -> None:
    assert with_work(*running(), succeeded()).history[-1]["event_type"] == "SUCCEEDED"
    assert len({history.event_type for history in HISTORIES.values()}) == len(HISTORIES) == 11
