"""Receives each change of rows once per process, keeps the last ones, and wakes the streams that send them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import Final, Protocol

from drover.api.live.tail import Bell
from drover.api.rows.line import Line, Resets
from drover.api.rows.track import Track
from drover.bus.rows import RowsChanged, RowsHeartbeat
from drover.eventlog.log import Partition
from drover.projection.positions import place_of
from drover.readmodel.live import LiveRelation
from drover.readmodel.models import LIVE
from drover.service.tasks import in_background

STALE_S: Final = 5.0
"""After this many seconds without a heartbeat, a partition counts as stalled: its projector, PostgreSQL or NATS is
down."""
LOOK_S: Final = 1.0
RING_EVERY_S: Final = 0.02
"""Minimum seconds between two wake-ups of all streams. Each projector publishes some 30 batches a second."""
RING_EVERY_MAX_S: Final = 0.25
STREAM_S: Final = 0.0005
"""Each open stream adds this many seconds to the time between two wake-ups, because each builds and sends a chunk. A
few streams are then served quickly, and many do not use up the process."""
BATCH_S: Final = 0.05
"""How many seconds to wait for the remaining messages of a batch, which may be lost."""


class Watcher(Protocol):
    """Receives every message immediately, while streams get messages only after a wake-up."""

    def changed(self, relation: str, message: RowsChanged) -> None:
        """Handle changed rows. No message before this one was missed."""

    def reset(self, relations: Resets) -> None: ...


class Hub:
    """The last changes (`Track`) of all relations. `changed` and `heartbeat` add messages; the other methods only
    read."""

    def __init__(
        self,
        partitions: Mapping[str, Sequence[Partition]],
        *,
        live: Mapping[str, tuple[LiveRelation, ...]] = LIVE,
        make_track: Callable[[Callable[[], int]], Track] = Track,
    ) -> None:
        """`partitions`: the partitions of every context."""
        self._bell = Bell()
        self.live: Final = live
        number = count(1)
        contexts: dict[str, list[str]] = {}
        for one in (one for many in live.values() for one in many):
            contexts.setdefault(one.context, []).append(one.name)
        self._lines = {
            (context, partition.name): Line(
                context,
                place_of(context, partition.name),
                names,
                lambda: make_track(number.__next__),
            )
            for context, names in contexts.items()
            for partition in partitions.get(context, (Partition(context),))
        }
        self._heard_at: dict[tuple[str, str], float] = {}
        self._stale = frozenset(contexts)
        self._ring: asyncio.TimerHandle | None = None
        self._ring_at = float("inf")
        """When `_ring` is due. It is stored here, because a timer of uvloop does not always say when it is due."""
        self._rang_at = float("-inf")
        self._watchers: list[Watcher] = []
        self._streams = 0

    @contextmanager
    def listening(self) -> Iterator[Bell]:
        """Register a listening stream for the length of the `with` block. Yields the bell, which rings when there is
        something to send."""
        self._streams += 1
        try:
            yield self._bell
        finally:
            self._streams -= 1

    def watch(self, watcher: Watcher) -> None:
        self._watchers.append(watcher)

    def lines(self, contexts: Iterable[str]) -> list[Line]:
        wanted = {*contexts}
        return [line for line in self._lines.values() if line.context in wanted]

    def is_stale(self, context: str) -> bool:
        """Whether heartbeats of the context are missing, so that its rows may be old."""
        return context in self._stale

    def changed(self, context: str, relation: str, message: RowsChanged) -> None:
        if (line := self._heard(context, message.partition)) is not None:
            resets = line.changed(relation, message)
            for watcher in self._watchers:
                if resets:
                    watcher.reset(resets)
                else:
                    watcher.changed(relation, message)
            self._wake(BATCH_S if message.more else 0.0)

    def heartbeat(self, context: str, message: RowsHeartbeat) -> None:
        if (line := self._heard(context, message.partition)) is not None:
            if resets := line.heartbeat(message):
                for watcher in self._watchers:
                    watcher.reset(resets)
            self._wake()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Check for stalled partitions while the block runs."""
        async with in_background(self._watch(), name="rows-watch"):
            yield

    def _heard(self, context: str, partition: str) -> Line | None:
        line = self._lines.get((context, partition))
        if line is not None:
            self._heard_at[context, partition] = asyncio.get_running_loop().time()
            if context in self._stale:
                self._look()
        return line

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self._look()

    def _look(self) -> None:
        since = asyncio.get_running_loop().time() - STALE_S
        never = float("-inf")
        stale = frozenset(
            context for context, name in self._lines if self._heard_at.get((context, name), never) < since
        )
        if stale != self._stale:
            self._stale = stale
            self._wake()

    def _wake(self, in_s: float = 0.0) -> None:
        """Wake the streams after `in_s`, but not before the minimum time since the last wake-up has passed."""
        loop = asyncio.get_running_loop()
        every_s = max(RING_EVERY_S, min(RING_EVERY_MAX_S, self._streams * STREAM_S))
        at = max(loop.time() + in_s, self._rang_at + every_s)
        if self._ring is not None:
            if self._ring_at <= at:
                return
            self._ring.cancel()
        self._ring, self._ring_at = loop.call_at(at, self._ring_now), at

    def _ring_now(self) -> None:
        self._ring = None
        self._rang_at = asyncio.get_running_loop().time()
        self._bell.ring()
