"""Makes a state that has only one ended job or assignment, from its row in the read model. The fleet's own state
forgets ended work after a while. With the state made here, the rules answer a late command as they would have answered
it before."""

from __future__ import annotations

from datetime import datetime

import msgspec

from drover.domain.fleet.job_spec import JobSpec
from drover.domain.fleet.state import AssignmentStatus, Ended, Fleet, Job, JobStatus


class JobRow(msgspec.Struct, frozen=True):
    """The columns of `jobs` that are needed here."""

    id: str
    target_url: str
    status: JobStatus
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    completed: int
    failed: int
    not_before: datetime | None = None

    def revive(self) -> Fleet | None:
        """Make the state. None if the row shows an open job: the read model does not have its end yet."""
        job = Job(self.id, 0, JobSpec(target_url=self.target_url), self.created_at, self.updated_at, wanted=False)
        job.lives_from = self.not_before
        job.status, job.ended_at, job.completed, job.failed = self.status, self.ended_at, self.completed, self.failed
        return None if job.is_open else Fleet(jobs={job.job_id: job})


class AssignmentRow(msgspec.Struct, frozen=True):
    """The columns of `job_assignments` that are needed here."""

    id: str
    job_id: str
    device_id: str
    status: AssignmentStatus
    run: int
    retry_count: int
    created_at: datetime

    def revive(self) -> Fleet | None:
        """Make the state, with a job that can no longer change. None if the row shows a live assignment."""
        if self.status in (AssignmentStatus.PENDING, AssignmentStatus.RUNNING):
            return None
        job = Job(self.job_id, 0, JobSpec(target_url=""), self.created_at, self.created_at, wanted=False)
        job.status = JobStatus.COMPLETED
        ended = Ended(self.job_id, self.device_id, self.status, self.run, self.retry_count, late_noted=True)
        return Fleet(jobs={job.job_id: job}, ended={self.id: ended})
