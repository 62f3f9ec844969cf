"""Keeps the roster up with the log. Asking Postgres would make every heartbeat depend on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog

from drover.domain.fleet import FLEET
from drover.eventlog.codec import Codec
from drover.eventlog.log import EventLog, LogUnreachable, StoredCommit
from drover.eventlog.snapshots import SnapshotStore
from drover.gateway.roster import Roster
from drover.projection.positions import Positions
from drover.service.tasks import end
from drover.writer.fold import LogBroken
from drover.writer.snapshots import Snapshotter

SLICE_S: Final = 0.005
"""So long the feed may hold the loop before it lets others have a turn."""
RETRY_PAUSE_S: Final = 0.5

log = structlog.get_logger("drover.gateway")


class RosterFeed:
    """Folds the fleet's events into a roster: from the writer's latest snapshot if there is one, and then for ever."""

    def __init__(self, event_log: EventLog, roster: Roster, snapshots: SnapshotStore | None = None) -> None:
        self.at = Positions([event_log.partition])
        """For those who wait until the roster has what they wrote."""
        self._log = event_log
        self._roster = roster
        self._snapshots = None if snapshots is None else Snapshotter(FLEET, event_log.partition, snapshots)
        self._codec = Codec.of(FLEET)
        self._n = 0
        self._aim: int | None = None
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._task = asyncio.create_task(self._run(), name="roster-feed")
        try:
            yield
        finally:
            await end(self._task)

    async def wait_failed(self) -> None:
        assert self._task is not None
        await asyncio.shield(self._task)

    def why_not_ready(self) -> str | None:
        """Until it has seen what was there when it started, the roster would turn known devices away."""
        if self._aim is None:
            return "The log has not answered yet."
        seq = self._roster.seq
        return None if seq >= self._aim else f"The roster is at {seq} of {self._aim}."

    async def _run(self) -> None:
        self._aim = await self._last_seq()
        await self._restore()
        self._reached(self._roster.seq)
        async with self._log.read(self._roster.seq) as reader:
            while True:
                yielded = time.perf_counter()
                for commit in await reader.next():
                    self._roster.apply(self._read(commit), commit.seq)
                    self._reached(commit.seq)
                    # The loop is shared with heartbeats that must be answered. Not after each commit, though: under
                    # load a turn of the loop is long, and the roster would fall behind what is being asked of it.
                    if time.perf_counter() - yielded > SLICE_S:
                        await asyncio.sleep(0)
                        yielded = time.perf_counter()

    async def _last_seq(self) -> int:
        while True:
            try:
                last = await self._log.last()
                return last.seq if last else 0
            except LogUnreachable:
                await asyncio.sleep(RETRY_PAUSE_S)

    async def _restore(self) -> None:
        """Begin with the writer's snapshot. It is a cache: without a good one the log is read from its start."""
        fold = None if self._snapshots is None else await self._snapshots.load()
        if fold is None:
            return
        last = await self._last_seq()  # again: the log may have grown since, and the snapshot with it
        if fold.seq > last:
            log.warning("snapshot_ignored", context=FLEET.context, snapshot_seq=fold.seq, log_seq=last)
            return
        self._roster.restore(fold.state, fold.seq)
        self._n = fold.n

    def _read(self, commit: StoredCommit) -> list[Any]:
        """The events of a commit, which must follow those before: with a hole, phones would be told of a past fleet."""
        events = self._codec.decode(commit.payload)
        for event in events:
            if event.n != self._n + 1:
                raise LogBroken(commit.seq, self._n + 1, event.n)
            self._n = event.n
        return events

    def _reached(self, seq: int) -> None:
        assert self._aim is not None
        self._roster.complete = self._roster.complete or seq >= self._aim
        if seq:
            self.at.observe(FLEET.context, self._log.partition.name, seq)
