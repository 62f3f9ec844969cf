"""Runs a cleanup on request. It may take several commits, so this module polls until it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from uuid_utils import uuid7

from drover.bus.messages import Rejected
from drover.cleanup import log_lines, metrics
from drover.domain.analysis.commands import Cleanup, GetCleanupRun, ReportCleanupFailed
from drover.domain.backoff import Backoff, Retries
from drover.domain.decider import Command
from drover.domain.errors import DroverError
from drover.web.commands import CommandClient, Origin
from drover.web.errors import ApiError

WAIT_S: Final = 25.0
"""Seconds to wait for the end of a cleanup; then it counts as failed. A thousand tests take less than a second."""
LOOK: Final = Backoff(first_s=0.02, max_s=0.5)
REPORT_S: Final = 2.0


class CleanupFailed(DroverError):
    """A cleanup did not start, or did not end in time."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Finished(msgspec.Struct, frozen=True):
    """The result of a cleanup."""

    run_id: str
    cleaned: int
    skipped: int
    users: list[str]


class _Asked(msgspec.Struct):
    run_id: str


class _Run(msgspec.Struct):
    run_id: str
    finished: bool
    cleaned: int
    skipped: int
    users_count: int
    users: list[str]


class ManualCleanup:
    def __init__(self, client: CommandClient, options: Mapping[str, Any], wait_s: float = WAIT_S) -> None:
        self._client = client
        self._options = options
        self._wait_s = wait_s

    async def answer(self, *, by: str) -> Finished:
        """Run a cleanup for an HTTP request. A failure is logged, counted and reported as an alert, and raised as an
        HTTP error."""
        try:
            return await self.run(by=by)
        except CleanupFailed as error:
            log_lines.failed(error.reason)
            metrics.RUNS.labels("failed").inc()
            await self._report(error.reason, by=by)
            raise ApiError(500, "CLEANUP_FAILED", "Failed to cleanup tests", details=error.reason) from error

    async def run(self, *, by: str) -> Finished:
        """Run a cleanup to its end, or wait for the one that is already running. Raises CleanupFailed."""
        asked = await self._ask(Cleanup(str(uuid7()), **self._options), by, _Asked)
        try:
            async with asyncio.timeout(self._wait_s):
                run = await self._ended(asked.run_id, by)
                users = list(run.users)
                while len(users) < run.users_count:
                    run = await self._ask(GetCleanupRun(run.run_id, len(users)), by, _Run)
                    if not run.users:
                        raise CleanupFailed("The list of users is incomplete")
                    users += run.users
        except TimeoutError:
            reason = f"The cleanup {asked.run_id} has not ended within {self._wait_s:g} s; it continues"
            raise CleanupFailed(reason) from None
        return Finished(run.run_id, run.cleaned, run.skipped, users)

    async def _ended(self, run_id: str, by: str) -> _Run:
        looks = Retries(LOOK)
        while True:
            run: _Run = await self._ask(GetCleanupRun(run_id), by, _Run)
            if run.finished:
                return run
            await asyncio.sleep(looks.failed())

    async def _ask(self, command: Command, by: str, shape: Any) -> Any:
        outcome = await self._client.outcome(command, Origin(by=by))
        if isinstance(outcome, Rejected):
            raise CleanupFailed(f"{outcome.code}: {outcome.message}")
        return msgspec.convert(outcome.result, shape)

    async def _report(self, reason: str, *, by: str) -> None:
        """Raise an alert about a failed cleanup, if the writer can be reached."""
        try:
            async with asyncio.timeout(REPORT_S):
                await self._client.outcome(ReportCleanupFailed(reason), Origin(by=by))
        except TimeoutError:
            pass
