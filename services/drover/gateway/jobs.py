"""`POST` and `PATCH /rest/v1/jobs`: create, pause, resume and end jobs. The rules are in the decider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Literal
from uuid import UUID

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType
from uuid_utils import uuid7

from drover.bus.messages import Accepted
from drover.domain.decider import Command
from drover.domain.fleet.commands import CancelJob, CreateJob, DeactivateJob, PauseJob, ResumeJob
from drover.domain.fleet.job_spec import JobSpec
from drover.gateway.creation import Creation
from drover.gateway.patching import parse_patch, settle
from drover.gateway.rest_routes import changes, creates
from drover.gateway.roster import Roster
from drover.gateway.rows import Row, job_row
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import CommandClient, request_origin
from drover.web.errors import invalid
from drover.web.route import handles


class NewJob(JobSpec, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of `jobs` as a client writes it. Defaults are those of 000. The domain checks ranges and sums."""

    id: UUID | UnsetType = UNSET
    is_active: bool = True

    def command(self) -> CreateJob:
        fields = msgspec.structs.asdict(self)
        id_ = fields.pop("id")
        return CreateJob(job_id=str(uuid7() if id_ is UNSET else id_), **fields)


class JobChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a PATCH may change: `status`, or `is_active`, which dashboards use, or both if they agree."""

    status: Literal["active", "paused", "cancelled"] | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET

    def command(self) -> Callable[[str], Command]:
        """The command for each job."""
        if self.status is UNSET:
            if self.is_active is UNSET:
                raise invalid("status or is_active is required", field="status")
            return ResumeJob if self.is_active else DeactivateJob
        if self.is_active not in (UNSET, self.status == "active"):
            message = f"status {self.status} and is_active {str(self.is_active).lower()} contradict each other"
            raise invalid(message, field="is_active", value=self.is_active)
        return _BY_STATUS[self.status]


_BY_STATUS: Final[dict[str, Callable[[str], Command]]] = {
    "active": ResumeJob,
    "paused": PauseJob,
    "cancelled": CancelJob,
}


class Jobs:
    def __init__(self, client: CommandClient, roster: Roster) -> None:
        self._client = client
        self._roster = roster
        self._change = Body(JobChange)
        self._creation = Creation("jobs", NewJob, NewJob.command, self._created, client=client)

    @handles(creates("jobs", NewJob))
    def post(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._creation.post(request, principal)

    @handles(changes("jobs", JobChange))
    async def patch(self, request: web.Request, principal: Principal) -> web.Response:
        patch = parse_patch(request, RELATIONS["jobs"])
        raw = await read_body(request)
        command = self._change.decode(raw).command()
        outcomes = await self._client.outcomes(
            [command(job_id) for job_id in patch.ids],
            request_origin(request, principal, route="PATCH jobs", raw=raw),
            targets=patch.ids,
        )
        done = settle(self._client, patch.ids, outcomes)
        await self._client.wait_local(done.position)
        rows = list(map(self._row, done.rows)) if patch.preferences.representation else None
        return patch.answer(rows, self._client.position_headers(done.position))

    def _created(self, command: CreateJob, done: Accepted) -> Row:
        """What the command recorded; other columns from live state."""
        told: Row = done.result
        return self._row(told["id"]) | told

    def _row(self, job_id: str) -> Row:
        # A roster that is more than a second late shows the job as it was.
        job = self._roster.fleet.jobs.get(job_id)
        return {"id": job_id} if job is None else job_row(job)
