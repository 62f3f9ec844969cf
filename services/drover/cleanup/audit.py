"""Follows the log of analyses: writes a log line for each cleanup, and updates metrics. Only the leading process does
this.

It starts at the end of the log, so that no cleanup is reported twice. The table `cleanup_runs` has older cleanups.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from drover.cleanup import log_lines, metrics
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import events as e
from drover.domain.analysis.state import Analyses
from drover.eventlog.codec import Codec
from drover.eventlog.follow import Follower
from drover.eventlog.log import EventLog, StoredCommit
from drover.writer.writer import Writer


class Audit:
    def __init__(self, event_log: EventLog, writer: Writer[Analyses]) -> None:
        self._writer = writer
        self._codec = Codec.of(ANALYSIS)
        self._follower = Follower(event_log, self._take, name="cleanup's log lines and metrics")
        self.wait_failed = self._follower.wait_failed

    @property
    def at(self) -> int:
        """The sequence number of the last commit that was read."""
        return self._follower.seq

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._follower.running():
            await self._follower.begun.wait()
            yield

    def _take(self, commit: StoredCommit) -> None:
        if self._writer.leading.is_set():
            for event in self._codec.decode(commit.payload):
                self.tell(event)

    def tell(self, event: Any) -> None:
        told = _TOLD.get(type(event))
        if told is not None:
            told(self, event)

    def _started(self, event: e.TestStarted | e.TestRecorded) -> None:
        metrics.TESTS.labels("started").inc()

    def _completed(self, event: e.TestCompleted) -> None:
        metrics.TESTS.labels("completed").inc()

    def _failed(self, event: e.TestFailed) -> None:
        metrics.TESTS.labels("failed").inc()
        if event.run_id is not None:
            metrics.CLEANED.labels("cleaned").inc()

    def _late(self, event: e.LateReportRefused) -> None:
        metrics.TESTS.labels("late").inc()

    def _skipped(self, event: e.TestSkipped) -> None:
        log_lines.skipped(event.test_id, event.user_id, event.reason, event.run_id)
        if event.run_id is not None:
            metrics.CLEANED.labels("skipped").inc()

    def _finished(self, event: e.CleanupRunFinished) -> None:
        metrics.RUNS.labels("skipped" if event.skipped else "clean").inc()
        metrics.SECONDS.observe(event.duration_ms / 1000)
        if event.cleaned == 0 and event.skipped == 0:
            log_lines.nothing_to_do()
            return
        state = self._writer.state
        run = None if state is None else state.runs.get(event.run_id)
        log_lines.cleaned(event.cleaned, [] if run is None else run.users, event.skipped, event.duration_ms)


_TOLD: Final[dict[type, Callable[[Audit, Any], None]]] = {
    e.TestStarted: Audit._started,
    e.TestRecorded: Audit._started,
    e.TestCompleted: Audit._completed,
    e.TestFailed: Audit._failed,
    e.LateReportRefused: Audit._late,
    e.TestSkipped: Audit._skipped,
    e.CleanupRunFinished: Audit._finished,
}
