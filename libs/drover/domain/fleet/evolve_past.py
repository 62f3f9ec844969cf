"""Bounds what the state remembers of ended jobs and assignments."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Final

from drover.domain.fleet.policy import ARCHIVE_AFTER, PAST_ASSIGNMENTS_MAX, PAST_JOBS_MAX, TAKEN_BACK_MAX
from drover.domain.fleet.state import Fleet, Job, JobStatus
from drover.domain.fleet.timer_keys import job_timer
from drover.domain.past import KEPT_AT_LEAST

SOONER: Final = ARCHIVE_AFTER - KEPT_AT_LEAST


def note_past(fleet: Fleet, job: Job, at: datetime) -> None:
    """If the job has ended and none of its assignments is live, add it to the window of past jobs. If the window is
    then too large, its oldest jobs are archived sooner."""
    if job.is_open or job.live:
        return
    timer = job_timer(job.job_id)
    fleet.timers.set(timer, at + ARCHIVE_AFTER)
    past = fleet.shelved if job.status is JobStatus.DEACTIVATED else fleet.past
    past.add(timer, len(job.ran) + len(job.taken_back))
    past.shorten(fleet.timers, sooner=SOONER, count_max=PAST_JOBS_MAX, size_max=PAST_ASSIGNMENTS_MAX)


def forget_past(fleet: Fleet, job_id: str) -> None:
    """Remove a job from the window of past jobs, because it was opened again or archived."""
    for past in (fleet.past, fleet.shelved):
        past.drop(job_timer(job_id))


def shed_taken_back(fleet: Fleet, job: Job, *, most: int) -> None:
    """If the state remembers more than TAKEN_BACK_MAX assignments of this job that were taken back, forget the oldest.
    Check at most `most` of them. Keep those that will be opened again together with the job (`Job.cut_off`)."""
    too_many = len(job.taken_back) - TAKEN_BACK_MAX
    for assignment_id in list(islice(job.taken_back, max(0, min(too_many, most)))):
        del job.taken_back[assignment_id]
        if job.cut_off.get(fleet.ended[assignment_id].device_id) == assignment_id:
            job.taken_back[assignment_id] = None  # keep it, but move it to the end, so that the next call checks others
        else:
            del fleet.ended[assignment_id]
