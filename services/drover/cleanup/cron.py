"""Starts the scheduled cleanups: the leading process does so once for each scheduled time.

The log records the last scheduled time. If times were missed because no process ran, one cleanup runs at the next
start.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from uuid_utils import uuid7

from drover.bus.messages import Outcome, Rejected
from drover.cleanup import log_lines
from drover.cleanup.schedule import Schedule
from drover.domain.analysis.commands import CRON, Cleanup, ReportCleanupFailed
from drover.domain.analysis.state import Analyses
from drover.domain.errors import Code
from drover.service.tasks import in_background
from drover.writer.clock import Clock, SystemClock
from drover.writer.writer import Writer

BY: Final = "cron"
LOOK_EVERY_S: Final = 5.0
"""Seconds between two checks whether a cleanup is due. A cleanup starts at most this late, also after a change of
leader or of the clock."""
STUCK_AFTER: Final = timedelta(minutes=5)
"""A cleanup that has run for this long is reported as stuck."""


class CleanupCron:
    def __init__(
        self,
        writer: Writer[Analyses],
        schedule: Schedule,
        options: Mapping[str, Any],
        clock: Clock | None = None,
    ) -> None:
        self._writer = writer
        self._schedule = schedule
        self._options = options
        self._clock = clock or SystemClock()
        self._asking: asyncio.Future[Outcome] | None = None
        self._reported: str | None = None
        """The id of the cleanup that was last reported as stuck."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with in_background(self._keep_looking(), name="cleanup-cron"):
            yield

    async def _keep_looking(self) -> None:
        while True:
            await self._writer.leading.wait()
            try:
                self.look()
            except Exception as error:  # otherwise cleanups would stop, and nobody would notice
                log_lines.failed(repr(error))
            await asyncio.sleep(self._pause_s())

    def _pause_s(self) -> float:
        now = self._clock.now()
        due_in_s = (self._schedule.following(now) - now).total_seconds()
        return max(0.0, min(due_in_s, LOOK_EVERY_S))

    def look(self) -> None:
        """Start a cleanup if one is due and none is running."""
        state = self._writer.state
        if not self._writer.leading.is_set() or state is None:
            return
        now = self._clock.now()
        self._report_a_stuck_run(state, now)
        due = self._schedule.latest(now)
        if state.cron_at is not None and due <= state.cron_at:
            return
        if state.run is not None or self._asking is not None:
            return  # a new cleanup would only join the running one
        command = Cleanup(str(uuid7()), CRON, due, **self._options)
        self._asking = self._writer.submit(command, by=BY)
        self._asking.add_done_callback(self._answered)

    def _answered(self, asking: asyncio.Future[Outcome]) -> None:
        self._asking = None
        if asking.cancelled() or asking.exception() is not None:
            return
        outcome = asking.result()
        # After a change of leader, the new leader finds out what is due. A full log has an alert of its own.
        if isinstance(outcome, Rejected) and outcome.code not in (Code.NOT_LEADER, Code.LOG_FULL):
            self._report(f"{outcome.code}: {outcome.message}")

    def _report_a_stuck_run(self, state: Analyses, now: datetime) -> None:
        run = state.run
        if run is not None and now - run.started_at > STUCK_AFTER and self._reported != run.run_id:
            self._reported = run.run_id
            self._report(f"the cleanup {run.run_id} is stuck")

    def _report(self, reason: str) -> None:
        log_lines.failed(reason)
        self._writer.submit(ReportCleanupFailed(reason), by=BY)
