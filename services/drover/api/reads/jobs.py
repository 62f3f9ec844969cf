"""`/api/jobs`: what is to be done, how far it is, and on which devices."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from aiohttp import web

from drover.api.reads.assignments import ASSIGNMENTS, ATTEMPTS, Assignment
from drover.api.reads.attempts import AttemptEvent
from drover.api.reads.door import Door, Question, described, not_found, uuid_in
from drover.api.reads.listing import Key, Listing, Page, Where
from drover.api.reads.parameters import FROM, TO, one_of
from drover.api.reads.queries import QUERIES
from drover.domain.fleet.state import JobStatus
from drover.readmodel.fleet.jobs import JobRow
from drover.web.application import add_route
from drover.web.openapi.operation import in_path

CONTEXT: Final = "fleet"
PATH: Final = "/api/jobs"


class Job(JobRow, frozen=True):
    """What is to be done, and how far it is."""


class FailureCount(msgspec.Struct):
    """How many assignments failed for good in one way."""

    error_code: str | None
    assignments: int


class JobDetail(msgspec.Struct):
    """A job, and the first page of what belongs to it."""

    job: Job
    failures: list[FailureCount]
    """Most frequent first, at most 20."""
    assignments: Page[Assignment]
    """As `/api/jobs/{id}/assignments` has them."""
    attempts: Page[AttemptEvent]
    """As `/api/jobs/{id}/attempts` has them."""


JOBS: Final = Listing(
    "jobs",
    CONTEXT,
    Job,
    "rm_fleet.job_rows j",
    key=(Key("created_at", "j.created_at", datetime, "timestamptz"), Key("id", "j.id", UUID, "uuid")),
    wheres=(
        Where(one_of("status", [*JobStatus], "In one of these states.", many=True), "j.status = {}", fans=True),
        Where(FROM, "j.created_at >= {}"),
        Where(TO, "j.created_at < {}"),
    ),
    order=one_of("order", ["newest", "oldest"], "Which come first; the newest if nothing is said."),
)

_ID: Final = in_path("id", UUID, "Its id.")
OPERATIONS: Final = (
    described(PATH, "listJobs", "queue", "Jobs by their creation", Page[Job], kinds=JOBS.kinds),
    described(
        f"{PATH}/{{id}}",
        "getJob",
        "queue",
        "A job with its counters, assignments and attempts",
        JobDetail,
        parameters=(_ID,),
        errors=(404,),
    ),
    described(
        f"{PATH}/{{id}}/assignments",
        "listJobAssignments",
        "queue",
        "Assignments of a job, oldest first",
        Page[Assignment],
        parameters=(_ID,),
        kinds=ASSIGNMENTS.kinds,
    ),
    described(
        f"{PATH}/{{id}}/attempts",
        "listJobAttempts",
        "queue",
        "What happened to attempts of a job, newest first",
        Page[AttemptEvent],
        parameters=(_ID,),
        kinds=ATTEMPTS.kinds,
    ),
)


class Jobs:
    def __init__(self, door: Door) -> None:
        self._door = door

    def add_routes(self, app: web.Application) -> None:
        door = self._door
        add_route(app, "GET", PATH, door.listing(JOBS))
        add_route(app, "GET", f"{PATH}/{{id}}", door.handler((CONTEXT,), (), self.detail))
        add_route(app, "GET", f"{PATH}/{{id}}/assignments", door.listing(ASSIGNMENTS, path=_job))
        add_route(app, "GET", f"{PATH}/{{id}}/attempts", door.listing(ATTEMPTS, path=_job))

    async def detail(self, question: Question) -> JobDetail:
        models, job_id = self._door.models, uuid_in(question.request, "id")
        job = await JOBS.one(models, "j.id = $1", job_id)
        if job is None:
            raise not_found("Job")
        failures = await models.fetch(CONTEXT, QUERIES["job_failures"], job_id)
        mine = question.asked.with_(job_id=job_id)
        return JobDetail(
            job,
            [FailureCount(*failure) for failure in failures],
            await ASSIGNMENTS.page(models, mine),
            await ATTEMPTS.page(models, mine),
        )


def _job(request: web.Request) -> dict[str, Any]:
    return {"job_id": uuid_in(request, "id")}
