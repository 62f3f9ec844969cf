"""Keeps the roster up with the log. Asking Postgres would make every heartbeat depend on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from drover.domain.fleet import FLEET
from drover.eventlog.codec import Codec
from drover.eventlog.log import EventLog, LogUnreachable
from drover.gateway.roster import Roster
from drover.projection.positions import Positions
from drover.service.tasks import end

RETRY_PAUSE_S = 0.5


class RosterFeed:
    """Folds the fleet's events into a roster, from the first one on, and goes on for ever."""

    def __init__(self, log: EventLog, roster: Roster) -> None:
        self.at = Positions()
        """For those who wait until the roster has what they wrote."""
        self._log = log
        self._roster = roster
        self._codec = Codec.of(FLEET)
        self._seq = 0
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
        return None if self._seq >= self._aim else f"The roster is at {self._seq} of {self._aim}."

    async def _run(self) -> None:
        while self._aim is None:
            try:
                last = await self._log.last()
                self._aim = last.seq if last else 0
            except LogUnreachable:
                await asyncio.sleep(RETRY_PAUSE_S)
        self._roster.complete = self._aim == 0
        async with self._log.read(0) as reader:
            while True:
                for commit in await reader.next():
                    for event in self._codec.decode(commit.payload):
                        self._roster.apply(event)
                    self._seq = commit.seq
                    await asyncio.sleep(0)  # the loop is shared with heartbeats that must be answered
                    self.at.observe(FLEET.context, self._log.partition.name, commit.seq)
                self._roster.complete = self._roster.complete or self._seq >= self._aim
