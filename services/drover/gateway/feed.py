"""Keeps the gateway's copy of the fleet (the roster) up to date from the log. Heartbeats must not depend on
Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import structlog

from drover.domain.fleet import FLEET
from drover.domain.fleet.state import Fleet
from drover.eventlog.codec import Codec
from drover.eventlog.follow import Follower
from drover.eventlog.histories import OfAnotherHistory, refuse_another_history
from drover.eventlog.log import EventLog, StoredCommit
from drover.eventlog.snapshots import SnapshotStore
from drover.gateway.roster import Roster
from drover.projection.positions import Positions
from drover.writer.fold import Fold, LogBroken
from drover.writer.snapshots import Snapshotter

log = structlog.get_logger("drover.gateway")


class RosterFeed:
    """Applies the fleet's events to the roster, starting at the writer's latest snapshot if there is one."""

    def __init__(self, event_log: EventLog, roster: Roster, snapshots: SnapshotStore | None = None) -> None:
        self.at = Positions([event_log.partition])
        """How far the roster is, for callers that wait until it has their writes."""
        self._log = event_log
        self._roster = roster
        self._snapshots = None if snapshots is None else Snapshotter(FLEET, event_log.partition, snapshots)
        self._codec = Codec.of(FLEET)
        self._n = 0
        # Until it has caught up, the roster would refuse known devices.
        self._follower = Follower(event_log, self._take, name="the roster", begin=self._begin)
        self.wait_failed = self._follower.wait_failed
        self.why_not_ready = self._follower.why_not_ready

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._follower.running():
            yield

    async def _begin(self, last: StoredCommit | None) -> int:
        """Start at the writer's snapshot. Without a valid one, start at the beginning of the log."""
        target = 0 if last is None else last.seq
        fold = None if self._snapshots is None else await self._snapshots.load()
        if fold is not None and await self._belongs(fold):
            self._roster.restore(fold.state, fold.seq)
            self._n = fold.n
        self._reached(self._roster.seq, target)
        return self._roster.seq

    async def _belongs(self, fold: Fold[Fleet]) -> bool:
        """Whether the snapshot was made from this log. If not, the roster is made from the log alone. The writer
        refuses to lead while it has such a snapshot."""
        try:
            await refuse_another_history(
                self._log,
                seq=fold.seq,
                commit=fold.commit,
                what="The snapshot",
                remedy="the log of the writer says what to do.",
            )
        except OfAnotherHistory as error:
            log.error("snapshot_ignored", context=FLEET.context, why=str(error))
            return False
        return True

    def _take(self, commit: StoredCommit) -> None:
        self._roster.apply(self._read(commit), commit.seq)
        assert self._follower.target is not None
        self._reached(commit.seq, self._follower.target)

    def _read(self, commit: StoredCommit) -> list[Any]:
        """Decode the events of a commit. Raises an error if commits before it are missing, because phones would then
        see a wrong fleet."""
        events = self._codec.decode(commit.payload)
        for event in events:
            if event.n != self._n + 1:
                raise LogBroken(commit.seq, self._n + 1, event.n)
            self._n = event.n
        return events

    def _reached(self, seq: int, target: int) -> None:
        self._roster.complete = self._roster.complete or seq >= target
        if seq:
            self.at.observe(FLEET.context, self._log.partition.name, seq)
