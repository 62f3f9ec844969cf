"""Loads the state of a partition: reads a snapshot, then the commits after it up to the end of the log."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Final, Generic, TypeVar

from drover.domain.decider import Decider
from drover.eventlog.follow import follow
from drover.eventlog.histories import refuse_another_history
from drover.eventlog.log import EventLog, StoredCommit
from drover.writer.fold import Fold
from drover.writer.snapshots import Snapshotter

S = TypeVar("S")

NEARLY_THERE_S: Final = 1.0
"""The state counts as being at the end of the log if reading the rest of the log took less than this many seconds."""
FOLDING_SNAPSHOT_S: Final = 300.0
"""How often a writer that reads a long part of the log saves its state, in seconds, so that a restart does not begin
anew."""


class Loader(Generic[S]):
    def __init__(self, decider: Decider[S], event_log: EventLog, snapshotter: Snapshotter) -> None:
        self._decider = decider
        self._log = event_log
        self._snapshotter = snapshotter
        self._loading: tuple[Fold[S], int] | None = None
        """While the state is being loaded: the state so far, and the sequence at the end of the log. None: nothing is
        being loaded."""

    async def load(self) -> Fold[S]:
        """Load the state up to the end of the log. Raises OfAnotherHistory if a snapshot does not belong to the log."""
        try:
            fold = await self._newest_snapshot()
            await self._refuse_another_history(fold)
            await self._read_to_the_end(fold)
            return fold
        finally:
            self._loading = None

    async def reload(self, until: int) -> Fold[S]:
        """Load the state up to and including the commit at `until`, the last one of the present term."""
        fold = await self._newest_snapshot()
        await follow(self._log, fold.seq, fold.apply, until=until)
        return fold

    def progress(self) -> str:
        """Return a sentence about how far the state is loaded."""
        if self._loading is None:
            return f"The state of {self._log.partition} is not loaded yet."
        fold, end = self._loading
        return f"The state of {self._log.partition} is being loaded: it is at {fold.seq} of {end}."

    async def _newest_snapshot(self) -> Fold[S]:
        return await self._snapshotter.load() or Fold(self._decider)

    async def _read_to_the_end(self, fold: Fold[S]) -> None:
        loop = asyncio.get_running_loop()
        save_at = loop.time() + FOLDING_SNAPSHOT_S

        def take(commit: StoredCommit) -> None:
            nonlocal save_at
            fold.apply(commit)
            if loop.time() > save_at and not self._snapshotter.is_saving:
                save_at = loop.time() + FOLDING_SNAPSHOT_S
                self._snapshotter.take(fold)

        # The log grows while a long part of it is read, so read on until only a moment is left.
        took_s = float("inf")
        while took_s > NEARLY_THERE_S:
            began = time.perf_counter()
            last = await self._log.last()
            end = last.seq if last else 0
            self._loading = fold, end
            await follow(self._log, fold.seq, take, until=end)
            took_s = time.perf_counter() - began

    async def _refuse_another_history(self, fold: Fold[S]) -> None:
        """Raise OfAnotherHistory if a snapshot of any version does not belong to the log. Then either the log or the
        snapshots were replaced."""
        remedy = f"remove the snapshots with `drover snapshots forget {self._log.partition.context}`."
        refuse = partial(refuse_another_history, self._log, what="The snapshot", remedy=remedy)
        await refuse(seq=fold.seq, commit=fold.commit)
        for info in await self._snapshotter.known():
            await refuse(seq=info.seq, commit=info.commit)
