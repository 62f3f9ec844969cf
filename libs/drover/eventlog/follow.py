"""Follows a log in the background. All followers share this loop, its definition of ready, and its start and stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

import structlog

from drover.eventlog.log import EventLog, LogUnreachable, Reader, StoredCommit
from drover.service.tasks import in_background

SLICE_S: Final = 0.005
"""How many seconds a follower may work without letting other tasks run, because requests share the event loop."""
RETRY_PAUSE_S: Final = 0.5
ARCHIVE_PAUSE_S: Final = 2.0

Take = Callable[[StoredCommit], Awaitable[None] | None]
"""Handles one commit. If it returns an awaitable, the follower waits for that before it reads on."""
Begin = Callable[[StoredCommit | None], Awaitable[int]]
"""Is given the last commit of the log (None: it is empty), and returns the position after which to begin."""

log = structlog.get_logger("drover.eventlog")


async def follow(log: EventLog, after: int, take: Take, *, until: int | None = None) -> None:
    """Hand every commit after `after` to `take`, in order: for ever, or up to and including `until`.

    If the archive that has a commit does not answer, this waits and tries again. With `until`, it raises LogUnreachable
    instead.
    """
    if until is not None and after >= until:
        return
    async with log.read(after) as reader:
        while True:
            turn_began = time.perf_counter()
            for commit in await (_next(reader) if until is None else reader.next()):
                if (waiting := take(commit)) is not None:
                    await waiting
                if until is not None and commit.seq >= until:
                    return
                if time.perf_counter() - turn_began > SLICE_S:
                    await asyncio.sleep(0)
                    turn_began = time.perf_counter()


async def _next(reader: Reader) -> list[StoredCommit]:
    while True:
        try:
            return await reader.next()
        except LogUnreachable as error:
            log.warning("follower_waits", error=str(error))
            await asyncio.sleep(ARCHIVE_PAUSE_S)


async def from_the_end(last: StoredCommit | None) -> int:
    """Return the end of the log as the position to begin after: all existing commits are skipped."""
    return 0 if last is None else last.seq


async def last_before(log: EventLog, moment: datetime, last: int) -> int:
    """Return the sequence of the last commit that was stored before `moment`; it is at most `last`. A sequence without
    a commit counts as older.

    It steps backwards from the end, each step twice as long as the one before, and then does a binary search between
    the last two steps. So it reads few old commits, which may be in an archive, where reading one takes long. Moments
    are mostly recent.
    """

    async def is_before(seq: int) -> bool:
        commit = await log.get(seq)
        return commit is None or commit.stored_at < moment

    low, high, step = last, last, 1
    while low > 0 and not await is_before(low):
        high = low - 1
        low, step = max(0, low - step), step * 2
    while low < high:
        middle = (low + high + 1) // 2
        if await is_before(middle):
            low = middle
        else:
            high = middle - 1
    return low


class Follower:
    """Follows one log in a background task. It is ready once it has read all commits that existed when it started."""

    def __init__(self, log: EventLog, take: Take, *, name: str, begin: Begin = from_the_end) -> None:
        """`name`: what follows the log, for the task's name and the readiness message."""
        self.seq = 0
        """The sequence of the last commit that was handled."""
        self.begun = asyncio.Event()
        """Set once the start position is known."""
        self.target: int | None = None
        """The end of the log at the start. None: the log has not answered yet."""
        self._log = log
        self._take = take
        self._name = name
        self._begin = begin
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with in_background(self._run(), name=self._name) as self._task:
            yield

    async def wait_failed(self) -> None:
        """Wait until the follower fails, then raise its error."""
        assert self._task is not None
        await asyncio.shield(self._task)

    @property
    def is_caught_up(self) -> bool:
        return self.target is not None and self.seq >= self.target

    def why_not_ready(self) -> str | None:
        if self.target is None:
            return f"The log of {self._log.partition.context} has not answered yet."
        return None if self.is_caught_up else f"{self._name.capitalize()} is at {self.seq} of {self.target}."

    async def _run(self) -> None:
        await self._find_begin()
        self.begun.set()
        await follow(self._log, self.seq, self._taken)

    async def _find_begin(self) -> None:
        while True:
            try:
                last = await self._log.last()
                self.seq = await self._begin(last)
            except LogUnreachable:
                await asyncio.sleep(RETRY_PAUSE_S)
            else:
                self.target = 0 if last is None else last.seq
                return

    def _taken(self, commit: StoredCommit) -> Awaitable[None] | None:
        if (waiting := self._take(commit)) is not None:
            return self._taken_after(waiting, commit)
        self.seq = commit.seq
        return None

    async def _taken_after(self, waiting: Awaitable[None], commit: StoredCommit) -> None:
        await waiting
        self.seq = commit.seq
