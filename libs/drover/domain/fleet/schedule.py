"""Lets a job wait for a time of the wall clock, and ends that wait. Used by `evolve` only."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from drover.domain.fleet.state import Fleet, Job
from drover.domain.fleet.timer_keys import job_timer, schedule_timer
from drover.domain.wall_clock import partition_time


def wait_until(fleet: Fleet, job: Job, not_before: datetime) -> None:
    """Let the job wait for this time. Its 24 hours count from then on."""
    job.spec, job.is_scheduled = replace(job.spec, not_before=not_before), True
    arm_schedule(fleet, job)


def arm_schedule(fleet: Fleet, job: Job) -> None:
    """Set the timers of a scheduled job. Must be called again if the wall clock was set."""
    assert job.spec.not_before is not None
    due = partition_time(fleet, job.spec.not_before)
    job.lives_from = due
    fleet.timers.set(schedule_timer(job.job_id), due)
    fleet.timers.set(job_timer(job.job_id), job.expires_at)


def start_at_once(fleet: Fleet, job: Job, at: datetime) -> None:
    """Drop the time that the job waits for. Its 24 hours count from now on."""
    job.spec, job.lives_from = replace(job.spec, not_before=None), at
    end_wait(fleet, job)
    fleet.timers.set(job_timer(job.job_id), job.expires_at)


def end_wait(fleet: Fleet, job: Job) -> None:
    """The job no longer waits: its time has come, or it has ended."""
    job.is_scheduled = False
    fleet.timers.clear(schedule_timer(job.job_id))
