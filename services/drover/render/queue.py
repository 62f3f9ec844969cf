"""A worker's client of the render queue: sends commands to the writer of `render` and interprets their outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any, Final, TypeVar

import msgspec
import structlog

from drover.bus.messages import Bus, Rejected
from drover.domain.decider import Command
from drover.domain.errors import RETRY_LATER, Code, DroverError
from drover.domain.render import commands as c
from drover.domain.render.mapping_spec import CompositionSpec, Layer
from drover.domain.render.policy import Fault
from drover.domain.render.state import Status
from drover.service.subject_sealing import KeysUnreachable

CONTEXT: Final = "render"
QUEUE_AWAY_PAUSE_S: Final = 5.0


class Overtaken(DroverError):
    """This run is over: its render was cancelled, released or timed out, or another worker holds it."""

    def __init__(self, render_id: int, run: int, status: str | None, current_run: int | None) -> None:
        self.render_id = render_id
        self.run = run
        self.status = status
        self.current_run = current_run
        super().__init__(f"Run {run} of render {render_id} is over")


class QueueAway(DroverError):
    """The queue does not answer at the moment. The command may still take effect: retry."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class Refused(DroverError):
    """The queue refused a command, and a retry will not help: a defect of this program."""

    def __init__(self, rejected: Rejected) -> None:
        self.rejected = rejected
        super().__init__(f"{rejected.code}: {rejected.message}")


class Claimed(msgspec.Struct, frozen=True):
    render_id: int
    run: int
    lease_s: float
    """Seconds that the lease lasts after the claim and after each renewal. Not a point in time, because the queue's
    clock may differ from ours."""
    resumed: bool


class Details(msgspec.Struct, frozen=True):
    """What a worker needs to know about a render."""

    render_id: int
    status: Status
    run: int
    worker_id: str | None
    composition_id: str
    composition: str
    gfx_id: str
    gfx_data: str
    broadcast_date: date
    uid: str
    nexrender_job_id: str | None
    progress: int
    mapping_version: int


class Composition(CompositionSpec, frozen=True, kw_only=True):
    composition_id: str
    version: int
    fields: dict[str, Layer]


class Verdict(msgspec.Struct, frozen=True):
    """The queue's decision about a fault."""

    again: str | None
    """`step`: this run retries the failed step after `delay_s`. Otherwise this run is over. `render`: a later run
    renders again. None: the render has failed."""
    delay_s: float = 0.0


class Stop(msgspec.Struct, frozen=True):
    render_id: int
    uid: str
    nexrender_job_id: str | None
    composition: str
    broadcast_date: date
    discard: bool


class Standing(msgspec.Struct, frozen=True):
    status: Status
    run: int
    uid: str


T = TypeVar("T")


async def patiently(action: Callable[[], Awaitable[T]], log: structlog.typing.FilteringBoundLogger) -> T:
    """Retry `action` while the queue does not answer: the lease is long, so the work is not lost."""
    while True:
        try:
            return await action()
        except (QueueAway, KeysUnreachable) as error:  # the same process answers commands and provides keys
            log.warning("queue_away", error=str(error))
            await asyncio.sleep(QUEUE_AWAY_PAUSE_S)


class Queue:
    """The queue for one worker. The bus retries unanswered commands; lasting failures are raised here."""

    def __init__(self, bus: Bus, worker_id: str) -> None:
        self._bus = bus
        self.worker_id = worker_id

    async def claim(self) -> Claimed | None:
        return _as(Claimed | None, await self._ask(c.Claim(self.worker_id)))

    async def details(self, render_id: int) -> Details:
        return _as(Details, await self._ask(c.GetRender(render_id)))

    async def composition(self, composition_id: str) -> Composition:
        return _as(Composition, await self._ask(c.GetComposition(composition_id)))

    async def standing(self, render_ids: list[int]) -> dict[int, Standing]:
        """Return status, run and uid of those renders that the queue still knows; the others ended long ago."""
        found: dict[int, Standing] = {}
        for start in range(0, len(render_ids), c.IDS_PER_QUESTION_MAX):
            some = render_ids[start : start + c.IDS_PER_QUESTION_MAX]
            found |= _as(dict[int, Standing], await self._ask(c.GetRuns(some)))
        return found

    async def claim_stop(self) -> Stop | None:
        return _as(Stop | None, await self._ask(c.ClaimStop(self.worker_id)))

    async def stopped(self, stop: Stop) -> None:
        await self._ask(c.ReportStopped(stop.render_id, stop.uid, self.worker_id))

    async def renew(self, run: Claimed) -> None:
        await self._report(c.RenewLease(run.render_id, run.run, self.worker_id))

    async def hand_back(self, run: Claimed) -> None:
        await self._report(c.HandBack(run.render_id, run.run, self.worker_id))

    async def submitted(self, run: Claimed, nexrender_job_id: str, *, found: bool) -> None:
        await self._report(c.ReportSubmitted(run.render_id, run.run, self.worker_id, nexrender_job_id, found))

    async def progress(self, run: Claimed, progress: int, *, encoding: bool) -> None:
        stage = "encoding" if encoding else "rendering"
        await self._report(c.ReportProgress(run.render_id, run.run, self.worker_id, progress, stage))  # type: ignore[arg-type]

    async def rendered(self, run: Claimed) -> None:
        await self._report(c.ReportRendered(run.render_id, run.run, self.worker_id))

    async def unmapped(self, run: Claimed, fields: list[str]) -> None:
        await self._report(c.ReportUnmapped(run.render_id, run.run, self.worker_id, fields))

    async def fault(self, run: Claimed, fault: Fault, message: str, id: str | None = None) -> Verdict:
        """Report a fault. The queue counts the faults of a render; reports with the same `id` count as one fault, and
        get the same answer."""
        text = message[: c.MESSAGE_CHARS_MAX]
        result = await self._report(c.ReportFault(run.render_id, run.run, self.worker_id, fault, text), id)
        return _as(Verdict, result)

    async def completed(
        self, run: Claimed, *, path: str, size_bytes: int, sha256: str, codec: str, width: int, height: int
    ) -> float | None:
        """Report the completion. Return the seconds since `started_at`, when nexrender accepted the job, as the queue
        measured them. None: an earlier call has reported the completion, and its answer was lost."""
        told = await self._report(
            c.ReportCompleted(
                render_id=run.render_id,
                run=run.run,
                worker_id=self.worker_id,
                output_file_path=path,
                size_bytes=size_bytes,
                sha256=sha256,
                codec=codec,
                width=width,
                height=height,
            )
        )
        return None if told is None else float(told["duration_seconds"])

    async def _report(self, report: c.Report, id: str | None = None) -> Any:
        try:
            return await self._ask(report, id)
        except Refused as error:
            if error.rejected.code not in (Code.STALE_ATTEMPT, Code.NOT_FOUND):
                raise
            details = error.rejected.details or {}
            raise Overtaken(report.render_id, report.run, details.get("status"), details.get("current_run")) from error

    async def _ask(self, command: Command, id: str | None = None) -> Any:
        outcome = await self._bus.send(CONTEXT, command, by=f"worker:{self.worker_id}", id=id)
        if not isinstance(outcome, Rejected):
            return outcome.result
        if outcome.code in RETRY_LATER:
            raise QueueAway(outcome.code, outcome.message)
        raise Refused(outcome)


def _as(type_: type[T] | Any, result: Any) -> T:
    return msgspec.convert(result, type_, strict=False)
