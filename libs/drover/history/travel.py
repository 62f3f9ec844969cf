"""Answers `?as_of=`: computes the state of a context at any time, from the last checkpoint before that time. At most
two queries run at once. A moment that is far from every checkpoint is a job (`history.moment_jobs`)."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import msgspec

from drover.domain.decider import Decider
from drover.domain.errors import DroverError
from drover.eventlog.follow import last_before
from drover.eventlog.log import EventLog, StoredCommit
from drover.history.checkpoints import FoldCheckpoints, refuse_another_past
from drover.history.folding import advance, answer, die_with
from drover.writer.fold import FoldImage
from drover.writer.snapshots import readable_versions

AT_ONCE_MAX: Final = 2
"""How many queries are computed at once."""
STRETCH_EVENTS_MAX: Final = 150_000
"""How many events are applied at a time. A query that needs more is a job. This is three times the distance of two
checkpoints, because a checkpointer may lag."""
STRETCH_BYTES_MAX: Final = 128 * 1024 * 1024
CACHED_ANSWERS_MAX: Final = 64
CACHED_BYTES_MAX: Final = 64 * 1024 * 1024
SETTLED_AFTER: Final = timedelta(seconds=2)
"""How old a requested time must be for its answer to be cached: events may still be added to the present."""

Tell = Callable[[int, int], None]
"""Called with (commits applied, commits in total)."""


class TooManyTravellers(DroverError):
    """As many moments as can be computed at once are being computed already."""


class MomentTooFar(DroverError):
    """No checkpoint is near the requested time, so computing the answer takes too long for one request."""

    def __init__(self, context: str, at: datetime) -> None:
        self.context = context
        self.at = at
        super().__init__(f"No checkpoint of {context} is near {at.isoformat()}")


class MomentNotYet(DroverError):
    """The requested moment has not happened yet."""


class Place(msgspec.Struct, frozen=True):
    """A context whose past can be queried. `decider_of` returns its decider; it is a module-level function, because it
    is pickled."""

    decider_of: Callable[[], Decider[Any]]
    log: EventLog


class _Stamp(msgspec.Struct):
    at: datetime


def _begins(payload: bytes) -> datetime:
    """Return when the first event of a commit was decided."""
    return msgspec.json.decode(payload.partition(b"\n")[0], type=_Stamp).at


async def _stretches(log: EventLog, after: int, at: datetime) -> AsyncGenerator[tuple[bool, list[StoredCommit]], None]:
    """Yield the commits after sequence `after` up to the time `at`, and perhaps the first one after that time.

    A bounded number is yielded at once. The flag tells whether they are the last ones.
    """
    commits: list[StoredCommit] = []
    events = size = 0
    last = await log.last()
    if last is None or last.seq <= after:
        yield True, commits
        return
    async with log.read(after) as reader:
        while True:
            for commit in await reader.next():
                commits.append(commit)
                events += commit.payload.count(b"\n") + 1
                size += len(commit.payload)
                if commit.seq >= last.seq or (commit.payload and _begins(commit.payload) > at):
                    yield True, commits
                    return
                if events > STRETCH_EVENTS_MAX or size > STRETCH_BYTES_MAX:
                    yield False, commits
                    commits, events, size = [], 0, 0


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
            return await self._find(context, at, question, arguments)
        finally:
            self._busy -= 1

    async def ask_far(
        self, context: str, at: datetime, question: Callable[..., bytes], arguments: tuple[Any, ...], tell: Tell
    ) -> bytes:
        """Do the same as `ask`, however many events it takes, and call `tell` with the progress. The caller limits how
        many of these run at once."""
        log = self._places[context].log
        last = await log.last()
        end = 0 if last is None else await last_before(log, at, last.seq)
        first: int | None = None

        def told(seq: int) -> None:
            nonlocal first
            first = seq if first is None else first
            tell(seq - first, max(end, seq) - first)

        return await self._find(context, at, question, arguments, told)

    async def _find(
        self,
        context: str,
        at: datetime,
        question: Callable[..., bytes],
        arguments: tuple[Any, ...],
        told: Callable[[int], None] | None = None,
    ) -> bytes:
        """Compute the answer, starting from the last checkpoint before `at`. `told`: called with the sequence of the
        commit that the state has reached. If `told` is None, raise MomentTooFar if more than one stretch of the log
        (STRETCH_EVENTS_MAX) has to be applied."""
        place = self._places[context]
        image = await self._checkpoints.before(place.log.partition, readable_versions(place.decider_of()), at)
        seq, commit = 0, ""
        if image is not None:
            head = msgspec.msgpack.decode(image, type=FoldImage)
            seq, commit = head.seq, head.commit
        await refuse_another_past(place.log, seq, commit)
        commits: list[StoredCommit] = []
        async with aclosing(_stretches(place.log, seq, at)) as stretches:
            async for is_last, commits in stretches:
                if is_last:
                    break
                if told is None:
                    raise MomentTooFar(context, at)
                told(seq)
                image = await self._run(partial(advance, place.decider_of, image=image, commits=commits))
                seq = commits[-1].seq
                told(seq)
        work = partial(
            answer, place.decider_of, image=image, commits=commits, at=at, question=question, arguments=arguments
        )
        found = await self._run(work)
        if at < self._now() - SETTLED_AFTER:
            self._remember((context, at, question, arguments), found)
        return found

    async def _run(self, work: Callable[[], bytes]) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self._processes(), work)

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
