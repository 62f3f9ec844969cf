"""`/api/jobs`: jobs, their progress, and their devices."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from aiohttp import web

from drover.api.reads.assignments import ASSIGNMENTS, ATTEMPTS, Assignment
from drover.api.reads.attempts import AttemptEvent
from drover.api.reads.endpoint import Question, Subject, lists, reads, uuid_in
from drover.api.reads.listing import Key, Listing, Page, Where, within
from drover.api.reads.parameters import ORDER, one_of
from drover.api.reads.queries import QUERIES
from drover.domain.fleet.state import JobStatus
from drover.readmodel.fleet.jobs import JobRow
from drover.web.route import in_path

CONTEXT: Final = "fleet"
PATH: Final = "/api/jobs"


class Job(JobRow, frozen=True):
    """A job and its progress."""


class FailureCount(msgspec.Struct):
    """How many assignments failed for good with one error."""

    error_code: str | None
    assignments: int


class JobDetail(msgspec.Struct):
    """A job, and the first pages of its assignments and attempts."""

    job: Job
    failures: list[FailureCount]
    """The errors of assignments that failed for good, most frequent first, at most 20."""
    assignments: Page[Assignment]
    """The first page of `/api/jobs/{id}/assignments`."""
    attempts: Page[AttemptEvent]
    """The first page of `/api/jobs/{id}/attempts`."""


JOBS: Final = Listing(
    "jobs",
    CONTEXT,
    Job,
    "rm_fleet.job_rows j",
    key=(Key("created_at", "j.created_at", datetime, "timestamptz"), Key("id", "j.id", UUID, "uuid")),
    wheres=(
        Where(one_of("status", [*JobStatus], "In one of these states.", many=True), "j.status = {}", fans=True),
        *within("j.created_at"),
    ),
    order=ORDER,
)

_ID: Final = in_path("id", UUID, "Its id.")


def _job(request: web.Request) -> dict[str, Any]:
    return {"job_id": uuid_in(request, "id")}


class Jobs(Subject):
    jobs = lists(JOBS, PATH, id="listJobs", tag="queue", summary="Jobs by creation time")
    assignments = lists(
        ASSIGNMENTS,
        f"{PATH}/{{id}}/assignments",
        id="listJobAssignments",
        tag="queue",
        summary="Assignments of a job, oldest first",
        parameters=(_ID,),
        in_path=_job,
    )
    attempts = lists(
        ATTEMPTS,
        f"{PATH}/{{id}}/attempts",
        id="listJobAttempts",
        tag="queue",
        summary="Events of a job's attempts, newest first",
        parameters=(_ID,),
        in_path=_job,
    )

    @reads(
        f"{PATH}/{{id}}",
        id="getJob",
        tag="queue",
        summary="A job with its counters, assignments and attempts",
        answer=JobDetail,
        contexts=(CONTEXT,),
        parameters=(_ID,),
        errors=(404,),
    )
    async def detail(self, question: Question) -> JobDetail:
        models, job_id = self._endpoint.models, uuid_in(question.request, "id")
        job = await JOBS.one(models, "Job", "j.id = $1", job_id)
        failures = await models.fetch(CONTEXT, QUERIES["job_failures"], job_id)
        mine = question.asked.with_(job_id=job_id)
        return JobDetail(
            job,
            [FailureCount(*failure) for failure in failures],
            await ASSIGNMENTS.page(models, mine),
            await ATTEMPTS.page(models, mine),
        )
