"""Follows the event log of renders, and writes log lines about lapsed leases, crashed workers and time-outs.

No worker can write these lines. They are specified in document 003 (the render queue), §7.3.

Only the leading process writes them. It starts at the end of the event log, so that no line is written twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog

from drover.domain.render import RENDER
from drover.domain.render import events as e
from drover.domain.render.policy import Fault
from drover.domain.render.requests import LAPSED
from drover.domain.render.state import RenderQueue
from drover.eventlog.codec import Codec
from drover.eventlog.follow import Follower
from drover.eventlog.log import EventLog, StoredCommit
from drover.writer.writer import Writer

NOBODY: Final = "-"
"""Shown in a log line for an unknown worker: it claimed its render before this process began to read the event log."""

log = structlog.get_logger("drover.render")


class Audit:
    def __init__(self, event_log: EventLog, writer: Writer[RenderQueue]) -> None:
        self._leading = writer.leading
        self._codec = Codec.of(RENDER)
        self._lines = AuditLines()
        self._follower = Follower(event_log, self._take, name="the render queue's log lines")
        self.wait_failed = self._follower.wait_failed

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._follower.running():
            await self._follower.begun.wait()
            yield

    def _take(self, commit: StoredCommit) -> None:
        events = self._codec.decode(commit.payload)
        if self._leading.is_set():
            self._lines.tell(events)
        self._lines.remember(events)


class AuditLines:
    """Writes the log lines that follow from the events of commits."""

    def __init__(self) -> None:
        self._workers: dict[int, str] = {}
        """The worker that holds each render, by the render's id."""

    def tell(self, events: Sequence[Any]) -> None:
        lapsed = [event.render_id for event in events if isinstance(event, e.RenderRequeued) and event.reason == LAPSED]
        if lapsed:
            found = "1 stuck job" if len(lapsed) == 1 else f"{len(lapsed)} stuck jobs"
            log.warning(
                "stuck_jobs_released",
                part="Scheduler",
                about="Recovery",
                text=f"Found {found}, releasing...",
                jobs=lapsed,
            )
        for event in events:
            self._tell_one(event)

    def _tell_one(self, event: Any) -> None:
        match event:
            case e.RenderRequeued(reason=reason) if reason == LAPSED:
                log.error("worker_crashed", **self._about(event), error=event.message)
            case e.RenderClaimed(resumed=True):
                log.error("worker_crashed", **self._about(event), error="It came back and resumes its render")
            case e.RenderRequeued(reason=Fault.RENDER_TIMEOUT) | e.RenderFailed(fault=Fault.RENDER_TIMEOUT):
                log.error("nexrender_timeout", **self._about(event), text=f"{event.message} - cancelling")

    def _about(self, event: Any) -> dict[str, Any]:
        worker = getattr(event, "worker_id", None) or self._workers.get(event.render_id, NOBODY)
        return {"worker": worker, "job": event.render_id, "run": event.run}

    def remember(self, events: Sequence[Any]) -> None:
        for event in events:
            if isinstance(event, e.RenderRequeued | e.RenderCompleted | e.RenderFailed | e.RenderCancelled):
                self._workers.pop(event.render_id, None)
            elif isinstance(event, e.RunEvent):
                self._workers[event.render_id] = event.worker_id
