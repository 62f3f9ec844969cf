"""`POST` and `PATCH /rest/v1/job_assignments`: assignments by name, cancellations; reports are passed to `reports`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Final, Literal
from uuid import UUID

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType
from uuid_utils import uuid7

from drover.bus.messages import Accepted, Outcome
from drover.domain.fleet.commands import AssignJob, CancelAssignment
from drover.gateway.creation import Creation
from drover.gateway.patching import parse_patch, settle
from drover.gateway.reports import ReportBody, Reports
from drover.gateway.rest_routes import changes, creates
from drover.gateway.roster import Roster
from drover.gateway.rows import Row, assignment_row
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import CommandClient, Origin, request_origin
from drover.web.errors import ApiError
from drover.web.permissions import Permissions, Verb
from drover.web.route import AnyOf, handles


class NewAssignment(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `job_assignments` as a client writes it: assigns a device to a job, and waits for a slot."""

    job_id: UUID
    device_id: UUID
    id: UUID | UnsetType = UNSET
    status: Literal["pending"] = "pending"

    def command(self) -> AssignJob:
        return AssignJob(str(uuid7() if self.id is UNSET else self.id), str(self.job_id), str(self.device_id))


class Cancellation(msgspec.Struct, forbid_unknown_fields=True):
    """What a person may change on an assignment. Its agent reports everything else."""

    status: Literal["cancelled"]


class _Kind(msgspec.Struct):
    """The field that tells the two bodies of a PATCH apart. Each is fully checked where it is decoded."""

    status: str = ""


_kind: Final = msgspec.json.Decoder(_Kind)


class Assignments:
    def __init__(self, permissions: Permissions, client: CommandClient, roster: Roster, reports: Reports) -> None:
        self._permissions = permissions
        self._client = client
        self._roster = roster
        self._reports = reports
        self._report = Body(ReportBody)
        self._cancellation = Body(Cancellation)
        self._creation = Creation(
            "job_assignments",
            NewAssignment,
            NewAssignment.command,
            self._assigned,
            client=client,
        )

    @handles(creates("job_assignments", NewAssignment))
    def post(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._creation.post(request, principal)

    @handles(changes("job_assignments", AnyOf((ReportBody, Cancellation))))
    async def patch(self, request: web.Request, principal: Principal) -> web.Response:
        patch = parse_patch(request, RELATIONS["job_assignments"])
        raw = await read_body(request)
        origin = request_origin(request, principal, route="PATCH job_assignments", raw=raw)
        apply = self._cancel if _is_cancellation(raw) else self._take_report
        done = settle(self._client, patch.ids, await apply(patch.ids, principal, origin))
        rows = None
        if patch.preferences.representation:
            await self._client.wait_local(done.position)
            rows = [self._row(id_, result) for id_, result in done.rows.items()]
        return patch.answer(rows, self._client.position_headers(done.position))

    async def _cancel(self, ids: Sequence[str], principal: Principal, origin: Origin) -> Sequence[Outcome]:
        # Cancelling needs the permission to create: every phone may report, and that is not enough.
        self._permissions.demand(principal, "job_assignments", Verb.CREATE)
        self._cancellation.decode(origin.raw)
        commands = [CancelAssignment(assignment_id) for assignment_id in ids]
        return await self._client.outcomes(commands, origin, targets=ids)

    async def _take_report(
        self, ids: Sequence[str], principal: Principal, origin: Origin
    ) -> Sequence[Accepted | ApiError | None]:
        body = self._report.decode(origin.raw)

        async def submit(assignment_id: str) -> Accepted | ApiError | None:
            try:
                return await self._reports.submit(principal, assignment_id, body, key=origin.key, raw=origin.raw)
            except ApiError as error:
                return error

        return await asyncio.gather(*map(submit, ids))

    def _assigned(self, command: AssignJob, done: Accepted) -> Row:
        """The new assignment, or the one that existed already."""
        named = {"job_id": command.job_id, "device_id": command.device_id, "status": "pending"}
        return named | self._row(done.result["id"], None)

    def _row(self, assignment_id: str, done: Accepted | None) -> Row:
        """The row from live state and from the answer to the command; for an ended assignment, its end."""
        fleet = self._roster.fleet
        told: Row = done.result if done is not None and isinstance(done.result, dict) else {}
        if (assignment := fleet.assignments.get(assignment_id)) is not None:
            return assignment_row(fleet, assignment) | told  # the recorded values win if the roster is late
        if (ended := fleet.ended.get(assignment_id)) is not None:
            known = {"job_id": ended.job_id, "device_id": ended.device_id, "status": ended.status, "run": ended.run}
            return {"id": assignment_id, **known, **told}
        return {"id": assignment_id, **told}


def _is_cancellation(raw: bytes) -> bool:
    try:
        return _kind.decode(raw).status == "cancelled"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return False  # decoding it as a report gives the error
