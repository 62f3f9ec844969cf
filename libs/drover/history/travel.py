"""Answers `?as_of=`: computes the state of a context at any time, from the last checkpoint before that time. At most
two queries run at once."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import msgspec

from drover.domain.decider import Decider
from drover.domain.errors import DroverError
from drover.eventlog.log import EventLog
from drover.history.checkpoints import FoldCheckpoints, refuse_another_past
from drover.history.folding import answer, die_with
from drover.writer.fold import FoldImage
from drover.writer.snapshots import snapshot_version

AT_ONCE_MAX: Final = 2
STRETCH_EVENTS_MAX: Final = 150_000
"""How many events may be applied for one query; beyond it the query fails. This is three times the distance of two
checkpoints, because a checkpointer may lag."""
STRETCH_BYTES_MAX: Final = 128 * 1024 * 1024
CACHED_ANSWERS_MAX: Final = 64
CACHED_BYTES_MAX: Final = 64 * 1024 * 1024
SETTLED_AFTER: Final = timedelta(seconds=2)
"""How old a requested time must be for its answer to be cached: events may still be added to the present."""


class TooManyTravellers(DroverError):
    """Two time-travel queries are running already."""


class MomentTooFar(DroverError):
    """No checkpoint near the requested time has been saved yet."""

    def __init__(self, context: str, at: datetime) -> None:
        self.context = context
        self.at = at
        super().__init__(f"No checkpoint of {context} is near {at.isoformat()} yet")


class MomentNotYet(DroverError):
    """The requested moment has not happened yet."""


class Place(msgspec.Struct, frozen=True):
    """One context that supports time travel. `decider_of` is a module-level function, because it is pickled."""

    decider_of: Callable[[], Decider[Any]]
    log: EventLog


class _Stamp(msgspec.Struct):
    at: datetime


def _begins(payload: bytes) -> datetime:
    """Return when the first event of a commit was decided."""
    return msgspec.json.decode(payload.partition(b"\n")[0], type=_Stamp).at


class TimeTraveller:
    def __init__(
        self,
        places: dict[str, Place],
        checkpoints: FoldCheckpoints,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._places = places
        self._checkpoints = checkpoints
        self._now = now
        self._busy = 0
        self._pool: ProcessPoolExecutor | None = None
        self._cache: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()
        self._cached_bytes = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[TimeTraveller]:
        try:
            yield self
        finally:
            if self._pool is not None:
                pool, self._pool = self._pool, None
                await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)

    async def ask(self, context: str, at: datetime, question: Callable[..., bytes], *arguments: Any) -> bytes:
        """Return `question(state, at, *arguments)` for the state at that time. Raises MomentNotYet, MomentTooFar or
        TooManyTravellers."""
        if at > self._now():
            raise MomentNotYet(at.isoformat())
        key = (context, at, question, arguments)
        if (known := self._cache.get(key)) is not None:
            self._cache.move_to_end(key)
            return known
        if self._busy >= AT_ONCE_MAX:
            raise TooManyTravellers
        self._busy += 1
        try:
            found = await self._find(context, at, question, arguments)
        finally:
            self._busy -= 1
        if at < self._now() - SETTLED_AFTER:
            self._remember(key, found)
        return found

    async def _find(
        self, context: str, at: datetime, question: Callable[..., bytes], arguments: tuple[Any, ...]
    ) -> bytes:
        place = self._places[context]
        partition = place.log.partition
        version = snapshot_version(place.decider_of())
        image = await self._checkpoints.before(partition, version, at)
        after, commit = 0, ""
        if image is not None:
            head = msgspec.msgpack.decode(image, type=FoldImage)
            after, commit = head.seq, head.commit
        await refuse_another_past(place.log, after, commit)
        payloads = await self._stretch(place.log, after, at)
        work = partial(
            answer, place.decider_of, image=image, payloads=payloads, at=at, question=question, arguments=arguments
        )
        return await asyncio.get_running_loop().run_in_executor(self._processes(), work)

    async def _stretch(self, log: EventLog, after: int, at: datetime) -> list[bytes]:
        """Read the commits after sequence `after` up to the time `at`, and perhaps the first one after that time."""
        payloads: list[bytes] = []
        events = size = 0
        last = await log.last()
        if last is None or last.seq <= after:
            return payloads
        async with log.read(after) as reader:
            while True:
                for commit in await reader.next():
                    payloads.append(commit.payload)
                    events += commit.payload.count(b"\n") + 1
                    size += len(commit.payload)
                    if commit.seq >= last.seq or (commit.payload and _begins(commit.payload) > at):
                        return payloads
                    if events > STRETCH_EVENTS_MAX or size > STRETCH_BYTES_MAX:
                        raise MomentTooFar(log.partition.context, at)

    def _processes(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                AT_ONCE_MAX, multiprocessing.get_context("spawn"), initializer=die_with, initargs=(os.getpid(),)
            )
        return self._pool

    def _remember(self, key: tuple[Any, ...], found: bytes) -> None:
        self._cache[key] = found
        self._cached_bytes += len(found)
        while len(self._cache) > CACHED_ANSWERS_MAX or self._cached_bytes > CACHED_BYTES_MAX:
            _, dropped = self._cache.popitem(last=False)
            self._cached_bytes -= len(dropped)
