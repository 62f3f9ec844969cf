"""Turns agents' reports, from HTTP or a socket, into commands; or into telemetry if they have nothing to record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, Protocol

import msgspec
from msgspec import Meta

from drover.bus.messages import Accepted
from drover.bus.telemetry import Work
from drover.domain.fleet.commands import Report, ReportCompleted, ReportFailed, ReportPending, ReportRunning
from drover.domain.fleet.policy import MESSAGE_BYTES_MAX
from drover.domain.fleet.reports import PROGRESS_STEP
from drover.domain.fleet.state import Assignment, Phase
from drover.gateway.limits import DeviceLimits
from drover.gateway.roster import Roster
from drover.web.auth import Principal
from drover.web.commands import CommandClient, origin_of
from drover.web.errors import invalid

_CLAIMED_YEARS: Final = range(1970, 9999)
"""The years that a time in a report may have: every component can store such a time and convert it to UTC."""

# All our integers have these bounds. The decider checks whether a value makes sense.
Integer = Annotated[int, Meta(ge=-(2**31), lt=2**31)]
Percentage = Annotated[int, Meta(ge=0, le=100)]
Claimed = Annotated[datetime, Meta(tz=True)]


class Telemetry(Protocol):
    """The methods of `drover.bus.telemetry.TelemetryOut` that are called here."""

    def beat(self, device_id: str, seen_at: datetime, reported: dict[str, Any] | None) -> None: ...

    def progress(self, device_id: str, seen_at: datetime, work: Work) -> None: ...


class ReportBody(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a report. Fields that do not belong to its status are decoded and ignored."""

    status: Literal["running", "completed", "failed", "pending"]
    """`pending`: the agent gives the work back or, with an `error_code`, has failed."""
    run: Integer | None = None
    """The number of the run that the report is about. Agents that do not know runs omit it."""
    progress_pct: Percentage | None = None
    started_at: Claimed | None = None
    completed_at: Claimed | None = None
    actual_duration_sec: Integer | None = None
    did_like: bool = False
    did_comment: bool = False
    did_playlist: bool = False
    error_code: str | None = None
    error_message: str | None = None
    retry_count: Integer | None = None
    ad_playing: bool = False
    """Whether an advertisement pauses the progress."""
    popup_closed: bool = False
    """Whether the agent has just closed a pop-up that blocked the progress."""
    screenshot_ref: str | None = None
    activity_stack: str | None = None

    @property
    def is_final(self) -> bool:
        return self.status != "running"


class Reports:
    """Handles reports from HTTP and from sockets. The caller has checked the permission."""

    def __init__(
        self,
        roster: Roster,
        client: CommandClient,
        telemetry: Telemetry,
        limits: DeviceLimits,
        *,
        farm_is_open: bool = False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`farm_is_open`: whether everybody may end jobs. Then one report is enough to end one."""
        self._roster = roster
        self._client = client
        self._telemetry = telemetry
        self._limits = limits
        self._farm_is_open = farm_is_open
        self._clock = clock

    async def submit(
        self,
        principal: Principal,
        assignment_id: str,
        body: ReportBody,
        *,
        key: str | None = None,
        raw: bytes = b"",
        read_run: int | None = None,
        only_if: str | None = None,
        by_pc: bool = False,
    ) -> Accepted | None:
        """Handle a report. Returns the writer's answer; None if there was nothing to record. A refusal is raised as
        ApiError.

        `key` is the client's Idempotency-Key, if any, and `raw` the body that it was sent with. `read_run`: the run of
        the row that the request's filters matched; the report must not count for a later run. `only_if`: the status
        that the assignment must have. `by_pc`: whether the runner of a PC sent the report; it may leave fields out.
        """
        names_run = body.run is not None
        if not names_run and read_run is not None:
            body = msgspec.structs.replace(body, run=read_run)
        assignment = self._roster.fleet.assignments.get(assignment_id)
        device_id = self._speaker(principal, assignment_id)
        if device_id is not None:
            # Do this even if the report is refused below: throttling must not make work fail.
            self._note_life(device_id, assignment, body)
            if body.is_final or (assignment is not None and assignment.phase is not Phase.RUNNING):
                self._limits.check_vital(device_id)
            else:
                self._limits.check(device_id)
        else:
            self._limits.check_stray(principal.name)
        is_known = assignment is not None and self._roster.complete
        if is_known and only_if is None and _says_nothing_new(assignment, body, principal):
            return None
        command = _command(assignment_id, body, principal, by_pc=by_pc)
        command.only_if, command.names_run, command.farm_is_open = only_if, names_run, self._farm_is_open
        origin = origin_of(principal, route=f"report {assignment_id}", key=key, raw=raw)
        accepted = await self._client.send(command, origin)
        if body.is_final:
            # The commit may also offer the device new work: wait for it, so that the agent's next poll finds this work.
            await self._client.wait_local(accepted.position)
        return accepted

    def _speaker(self, principal: Principal, assignment_id: str) -> str | None:
        """Return the id of the device that sent this report. None: unknown."""
        if principal.device_id is not None:
            return principal.device_id
        fleet = self._roster.fleet
        known = fleet.assignments.get(assignment_id) or fleet.ended.get(assignment_id)
        return None if known is None else known.device_id

    def _note_life(self, device_id: str, assignment: Assignment | None, body: ReportBody) -> None:
        now = self._clock()
        if (
            assignment is not None
            and not body.is_final
            and assignment.device_id == device_id
            and body.run in (None, assignment.run)
        ):
            progress = assignment.progress_pct if body.progress_pct is None else body.progress_pct
            work = Work(assignment.assignment_id, assignment.run, progress, body.ad_playing, body.popup_closed)
            self._telemetry.progress(device_id, now, work)
        elif device_id in self._roster.fleet.devices:
            self._telemetry.beat(device_id, now, None)


def _says_nothing_new(assignment: Assignment | None, body: ReportBody, principal: Principal) -> bool:
    """Whether the report has nothing to record: it is about the current run, progress has not reached the next step,
    and the start of the run is known."""
    return (
        assignment is not None
        and body.status == "running"
        and body.error_code is None
        and assignment.phase is Phase.RUNNING
        and body.run in (None, assignment.run)
        and principal.device_id in (None, assignment.device_id)
        and body.ad_playing == assignment.ad_playing
        and (body.started_at is None or assignment.claimed_started_at is not None)
        and (body.progress_pct is None or _step(body.progress_pct) <= _step(assignment.progress_pct))
    )


def _step(progress_pct: int) -> int:
    return progress_pct // PROGRESS_STEP


def _command(assignment_id: str, body: ReportBody, principal: Principal, *, by_pc: bool = False) -> Report:
    run, device_id = body.run, principal.device_id
    started_at = _claimed("started_at", body.started_at)
    if body.status == "running":
        return ReportRunning(
            assignment_id,
            run,
            device_id,
            progress_pct=body.progress_pct,
            ad_playing=body.ad_playing,
            started_at=started_at,
            error_code=_cut(body.error_code),
            error_message=_cut(body.error_message),
            retry_count=body.retry_count,
            by_pc=by_pc,
        )
    if body.status == "completed":
        return ReportCompleted(
            assignment_id,
            run,
            device_id,
            progress_pct=body.progress_pct,
            actual_duration_sec=body.actual_duration_sec,
            did_like=body.did_like,
            did_comment=body.did_comment,
            did_playlist=body.did_playlist,
            started_at=started_at,
            completed_at=_claimed("completed_at", body.completed_at),
            error_code=_cut(body.error_code),
            infers=by_pc,
        )
    if body.status == "pending" and body.error_code is None:
        return ReportPending(assignment_id, run, device_id)
    return ReportFailed(
        assignment_id,
        run,
        device_id,
        error_code=_cut(body.error_code),
        error_message=_cut(body.error_message),
        retry_count=body.retry_count,
        screenshot_ref=_cut(body.screenshot_ref),
        activity_stack=_cut(body.activity_stack),
    )


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:MESSAGE_BYTES_MAX]


def _claimed(field: str, moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    if moment.year not in _CLAIMED_YEARS:
        raise invalid(f"{field} is out of range", field=field, value=moment.isoformat())
    return moment.astimezone(UTC)
