"""`/rest/v1/rpc/<function>`: calls the functions of document 002 (the operations queue), and `why`, which explains why
something waits. The decider has the rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from aiohttp import web

from drover.bus.messages import Accepted
from drover.domain.decider import Command
from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import ClaimForPc, FireOverdue, ReportCompleted, ReportFailed
from drover.domain.fleet.policy import MESSAGE_BYTES_MAX
from drover.domain.fleet.state import Fleet
from drover.domain.fleet.why import why
from drover.gateway.reports import Integer
from drover.gateway.rest_routes import WRITE_ERRORS
from drover.gateway.roster import Roster
from drover.gateway.signs import Telemetry, hear_pc, hear_pcs_of
from drover.gateway.tables.task_devices import TASK_DEVICE_FAILED
from drover.gateway.task_rows import claimed_row, reported_row
from drover.web.auth import Principal
from drover.web.bodies import Body, parse_json, read_body
from drover.web.commands import CommandClient, request_origin
from drover.web.errors import ApiError, encode_json, invalid, unavailable
from drover.web.forgotten import ForgottenWork
from drover.web.forgotten_kinds import ASSIGNMENT, JOB
from drover.web.freshness import Freshness
from drover.web.permissions import Grant, Permissions, Verb, check_own
from drover.web.postgrest.grammar import split_parameters
from drover.web.postgrest.respond import check_profile, choose_media
from drover.web.route import BEHIND, BY_HANDLER, IDEMPOTENCY_KEY, POSITION, AnyOf, Parameter, Route, handles, in_path
from drover.web.route import Answer as Described

_FORGETTABLE: Final = {kind.key: kind for kind in (JOB, ASSIGNMENT)}

PREFIX: Final = "p_"
"""Some users write this prefix before the names of arguments."""


class Claim(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of a claim: the PC, under one of two names, and how many assignments it wants."""

    runner_pc_id: str | None = None
    runner_pc_name: str | None = None
    max_to_claim: int = 1

    @property
    def pc_id(self) -> str:
        named = {one for one in (self.runner_pc_id, self.runner_pc_name) if one is not None}
        if len(named) > 1:
            raise invalid("runner_pc_id and runner_pc_name contradict each other", field="runner_pc_id")
        if not named:
            raise invalid("runner_pc_id or runner_pc_name is required", field="runner_pc_id")
        return named.pop()


class TaskFailure(msgspec.Struct, forbid_unknown_fields=True):
    """A runner's report of a failed task."""

    task_device_id: UUID
    error: str | None = None
    run: int | None = None
    """The number of the run that the runner claimed. Without it, the report is about the current run."""


class TaskCompletion(msgspec.Struct, forbid_unknown_fields=True):
    """A runner's report of a completed task. Without a duration, Drover takes the time since its start."""

    task_device_id: UUID
    run: int | None = None
    actual_duration_sec: Integer | None = None


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of a function that takes none."""


class Subject(msgspec.Struct, forbid_unknown_fields=True):
    """The subject of `why`: exactly one field."""

    assignment_id: UUID | None = None
    job_id: UUID | None = None
    device_id: UUID | None = None


class Call(msgspec.Struct, frozen=True):
    """One call of a function."""

    function: str
    request: web.Request
    principal: Principal
    grant: Grant
    raw: bytes


class Answer(msgspec.Struct, frozen=True):
    result: Any
    position: int = 0
    behind: Mapping[str, str] = MappingProxyType({})
    """Headers that say whether the result may be stale."""


class Function(msgspec.Struct, frozen=True):
    body: Body[Any]
    call: Callable[[Call, Any], Awaitable[Answer]]
    only_reads: bool = False


_FUNCTIONS: Final = Literal[
    "claim_task_devices_for_pc",
    "fail_or_retry_task_device",
    "complete_task_device",
    "fn_timeout_tasks_and_task_devices",
    "why",
    "clear_render_cache",
]
_FUNCTION: Final = in_path("function", _FUNCTIONS, "Its name.")


class Rpc:
    def __init__(
        self,
        permissions: Permissions,
        client: CommandClient,
        roster: Roster,
        freshness: Freshness,
        telemetry: Telemetry,
        forgotten: ForgottenWork,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        more: Mapping[str, Function] = MappingProxyType({}),
    ) -> None:
        """`freshness`: lets calls wait for the roster. `forgotten`: finds work that the roster has forgotten. `more`:
        functions of other contexts."""
        self._permissions = permissions
        self._client = client
        self._roster = roster
        self._freshness = freshness
        self._telemetry = telemetry
        self._forgotten = forgotten
        self._clock = clock
        self._functions: Final = {
            "claim_task_devices_for_pc": Function(Body(Claim), self._claim),
            "fail_or_retry_task_device": Function(Body(TaskFailure), self._fail),
            "complete_task_device": Function(Body(TaskCompletion), self._complete),
            "fn_timeout_tasks_and_task_devices": Function(Body(Nothing), self._fire),
            "why": Function(Body(Subject), self._why, only_reads=True),
            **more,
        }

    @handles(
        Route(
            method="POST",
            path="/rest/v1/rpc/{function}",
            id="restCall",
            tag="rest",
            summary="Call a function",
            permission=BY_HANDLER,
            parameters=(_FUNCTION, IDEMPOTENCY_KEY),
            body=AnyOf((Claim, TaskFailure, TaskCompletion, Subject, Nothing)),
            body_optional=True,
            answers={200: Described(Any, "The result of the function", headers=POSITION)},
            errors=(*WRITE_ERRORS, 405),
        )
    )
    async def post(self, request: web.Request, principal: Principal) -> web.Response:
        name, function, grant = self._find(request, principal)
        check_profile(request.headers, "Content-Profile")
        raw = await read_body(request) or b"{}"
        return await self._answer(function, Call(name, request, principal, grant, raw))

    @handles(
        Route(
            method="GET",
            path="/rest/v1/rpc/{function}",
            id="restAsk",
            tag="rest",
            summary="Call a function that changes nothing, such as `why`",
            permission=BY_HANDLER,
            parameters=(
                _FUNCTION,
                Parameter("assignment_id", UUID, "The subject. Give exactly one of these three."),
                Parameter("job_id", UUID, "Likewise."),
                Parameter("device_id", UUID, "Likewise."),
            ),
            answers={200: Described(Any, "The result of the function", headers=BEHIND)},
            errors=(400, 404, 405, 503),
        )
    )
    async def get(self, request: web.Request, principal: Principal) -> web.Response:
        """Call a function with its arguments in the query. Functions that change data are refused, because clients may
        repeat a GET, and other programs follow links."""
        name, function, grant = self._find(request, principal)
        if not function.only_reads:
            raise ApiError(
                405,
                "METHOD_NOT_ALLOWED",
                f"{name} changes data: call it with POST",
                headers={"Allow": "POST"},
            )
        check_profile(request.headers, "Accept-Profile")
        arguments: dict[str, str] = {}
        for argument, value in split_parameters(request.rel_url.raw_query_string):
            if argument in arguments:
                raise invalid(f"{argument[:64]} appears twice in the query", field=argument[:64], value=value[:64])
            arguments[argument] = value
        return await self._answer(function, Call(name, request, principal, grant, msgspec.json.encode(arguments)))

    def _find(self, request: web.Request, principal: Principal) -> tuple[str, Function, Grant]:
        name = request.match_info["function"]
        function = self._functions.get(name)
        if function is None:
            message = f"Could not find the function public.{name[:64]} in the schema cache"
            raise ApiError(404, "PGRST202", message)
        return name, function, self._permissions.demand(principal, f"rpc/{name}", Verb.CALL)

    async def _answer(self, function: Function, call: Call) -> web.Response:
        choose_media(call.request.headers)  # refuse an unknown media type before the call, not after it
        arguments = function.body.convert(without_prefix(parse_json(call.raw)))
        answer = await function.call(call, arguments)
        return web.Response(
            body=encode_json(answer.result),
            headers={**self._client.position_headers(answer.position), **answer.behind},
            content_type="application/json",
            charset="utf-8",
        )

    async def _send(self, call: Call, command: Command) -> Accepted:
        origin = request_origin(call.request, call.principal, route=f"rpc {call.function}", raw=call.raw)
        done = await self._client.send(command, origin)
        await self._client.wait_local(done.position)
        return done

    async def _claim(self, call: Call, claim: Claim) -> Answer:
        pc_id = claim.pc_id
        hear_pc(self._telemetry, self._roster.fleet, pc_id, self._clock())
        done = await self._send(call, ClaimForPc(pc_id, claim.max_to_claim))
        fleet, claimed = self._roster.fleet, done.result or ()
        return Answer([claimed_row(fleet, one["assignment_id"], one["run"]) for one in claimed], done.position)

    async def _fail(self, call: Call, failure: TaskFailure) -> Answer:
        assignment_id = str(failure.task_device_id)
        run = failure.run
        message = None if failure.error is None else failure.error[:MESSAGE_BYTES_MAX]
        as_device = call.principal.device_id
        command = ReportFailed(assignment_id, run, as_device, error_code=TASK_DEVICE_FAILED, error_message=message)
        return await self._report(call, command)

    async def _complete(self, call: Call, completion: TaskCompletion) -> Answer:
        command = ReportCompleted(
            str(completion.task_device_id),
            completion.run,
            call.principal.device_id,
            actual_duration_sec=completion.actual_duration_sec,
            progress_pct=100,
            infers=True,
        )
        return await self._report(call, command)

    async def _report(self, call: Call, command: ReportFailed | ReportCompleted) -> Answer:
        hear_pcs_of(self._telemetry, self._roster.fleet, [command.assignment_id], self._clock())
        done = await self._send(call, command)
        return Answer(reported_row(self._roster.fleet, done.result), done.position)

    async def _fire(self, call: Call, _: Nothing) -> Answer:
        done = await self._send(call, FireOverdue())
        fired = done.result if isinstance(done.result, dict) else {}
        return Answer({"timed_out": fired.get("timed_out", 0)}, done.position)

    async def _why(self, call: Call, subject: Subject) -> Answer:
        named = {name: str(value) for name, value in msgspec.structs.asdict(subject).items() if value is not None}
        if len(named) != 1:
            raise invalid("why takes exactly one of assignment_id, job_id and device_id", field="job_id")
        awaited = await self._freshness.wait(call.request.headers, FLEET.context)
        ((name, value),) = named.items()
        fleet = self._roster.fleet
        if name in _FORGETTABLE and self._roster.complete and not self._roster.knows_work(value):
            fleet = await self._recalled(name, value)
        if call.grant.own:
            check_own(call.grant, call.principal, _device_of(fleet, named))
        explanation = why(fleet, self._clock(), **named)
        if explanation is not None:
            return Answer(explanation, behind=awaited.headers)
        if not self._roster.complete:
            raise unavailable("The gateway has just started and is still loading the fleet")
        subject_name = name.removesuffix("_id").capitalize()
        raise ApiError(404, Code.NOT_FOUND, f"{subject_name} not found", details={name: value})

    async def _recalled(self, name: str, id_: str) -> Fleet:
        """Return a state that has only this job or assignment, as the read model shows it. The state is empty if there
        never was such a job or assignment."""
        row = await self._forgotten.find(_FORGETTABLE[name], id_)
        fleet: Fleet | None = FLEET.initial() if row is None else row.revive()
        if fleet is None:
            raise unavailable("The read model does not show yet how this ended")
        return fleet


def without_prefix(arguments: Any) -> Any:
    """Remove the prefix from the names of arguments: `p_error` becomes `error`."""
    if not isinstance(arguments, dict):
        return arguments
    named: dict[str, Any] = {}
    for name, value in arguments.items():
        plain = name.removeprefix(PREFIX)
        if plain in named:
            raise invalid(f"{plain[:64]} is given twice", field=plain[:64])
        named[plain] = value
    return named


def _device_of(fleet: Fleet, named: dict[str, str]) -> str:
    """Return the device of the subject of `why`. Empty if the subject is a job or an unknown assignment."""
    if (assignment_id := named.get("assignment_id")) is not None:
        known = fleet.assignments.get(assignment_id) or fleet.ended.get(assignment_id)
        return "" if known is None else known.device_id
    return named.get("device_id", "")
