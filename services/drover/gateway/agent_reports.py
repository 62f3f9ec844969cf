"""The reports of one socket that are not answered yet: their number is bounded, and they are answered in order.
`reports` handles each of them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Final

import structlog
from msgspec import UNSET

from drover.domain.errors import Code
from drover.gateway.agent_protocol import Done, Refused, Report
from drover.service import tracing
from drover.service.tasks import end
from drover.service.tracing import begin, current_id, end_request
from drover.web.errors import ApiError, internal

UNDER_WAY_MAX: Final = 64
"""Maximum of unanswered reports; beyond it, the socket is not read until one is answered."""

Answer = Done | Refused

log = structlog.get_logger("drover.gateway")


class ReportLane:
    """Submits reports, and answers them in the order of arrival.

    Reports about different assignments run concurrently. Reports about one assignment run one after the other, because
    each expects the state that the previous one has produced.
    """

    def __init__(self, submit: Callable[[Report], Awaitable[object]], answer: Callable[[Answer], None]) -> None:
        self._submit = submit
        self._give = answer
        self._under_way: deque[asyncio.Future[Answer]] = deque()
        self._latest: dict[str, asyncio.Future[Answer]] = {}
        """The last unanswered report about each assignment."""
        self._moved = asyncio.Event()
        self._stopped = False

    async def take(self, report: Report) -> None:
        """Submit a report. Waits while too many are unanswered."""
        if not await self._room():
            return
        before = self._latest.get(report.assignment_id)
        task = asyncio.create_task(self._settle(report, before), name="agent-report")
        self._latest[report.assignment_id] = task
        self._under_way.append(task)
        task.add_done_callback(lambda done: self._settled(report.assignment_id, done))

    async def refuse(self, ref: int, message: str) -> None:
        """Answer a report that could not be decoded, after the reports before it."""
        if not await self._room():
            return
        refusal: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        refusal.set_result(Refused(ref, 400, Code.VALIDATION_ERROR, message))
        self._under_way.append(refusal)
        self._answer()

    async def finish(self, within_s: float) -> None:
        """Wait until all reports are answered, at most `within_s`."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=within_s)

    def stop(self) -> None:
        """Accept no more reports. The agent sends unanswered ones again on its next socket."""
        self._stopped = True
        self._moved.set()

    async def close(self) -> None:
        """Cancel unanswered reports. The agent learns whether they were recorded when it sends them again."""
        self.stop()
        await end(*self._under_way)

    async def _room(self) -> bool:
        while len(self._under_way) >= UNDER_WAY_MAX and not self._stopped:
            self._moved.clear()
            await self._moved.wait()
        return not self._stopped

    async def _settle(self, report: Report, before: asyncio.Future[Answer] | None) -> Answer:
        place, started = begin(None), perf_counter()
        answer = await self._submitted(report, before)
        if tracing.recorder is not None:
            failed = isinstance(answer, Refused) and answer.status >= 500
            end_request(place, "agent report", started, {}, failed=failed)
        return answer

    async def _submitted(self, report: Report, before: asyncio.Future[Answer] | None) -> Answer:
        if before is not None:
            await asyncio.wait([before])
            earlier = before.result()
            if isinstance(earlier, Refused) and earlier.status >= 500:
                # Without the earlier one, this report would meet a state that it does not expect.
                message = "An earlier report of this assignment was not recorded"
                return Refused(report.ref, earlier.status, earlier.code, message)
        try:
            await self._submit(report)
        except ApiError as error:
            return refusal_of(report.ref, error)
        except Exception:
            log.exception("report_failed", assignment_id=report.assignment_id)
            return refusal_of(report.ref, internal(current_id()))
        return Done(report.ref)

    def _settled(self, assignment_id: str, done: asyncio.Future[Answer]) -> None:
        if self._latest.get(assignment_id) is done:
            del self._latest[assignment_id]
        self._answer()

    def _answer(self) -> None:
        while self._under_way and self._under_way[0].done():
            settled = self._under_way.popleft()
            if not settled.cancelled():
                self._give(settled.result())
        self._moved.set()


def refusal_of(ref: int, error: ApiError) -> Refused:
    """Make the refusal of a report, with the same content as over HTTP."""
    retry_after = error.headers.get("Retry-After")
    wait_s = UNSET if retry_after is None else int(retry_after)
    return Refused(ref, error.status, error.code, error.message, error.details, wait_s)
