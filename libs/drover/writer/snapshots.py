"""Decides when a writer saves a snapshot of its state, and saves it in a store. `forked_image` encodes it without
blocking the loop."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import aclosing
from typing import Any, Final

import msgspec
import structlog

from drover.domain.decider import Decider
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import SnapshotStore
from drover.writer import metrics
from drover.writer.fold import FOLD_VERSION, Fold, decode_image
from drover.writer.forked_image import ForkedImage

SNAPSHOT_EVERY_EVENTS: Final = 50_000

log = structlog.get_logger("drover.writer")


def snapshot_version(decider: Decider[Any]) -> str:
    """Return the version under which a decider's snapshots are stored. It changes with the type of the state and the
    version of the rules, so that a program finds only snapshots of its own version."""
    schema = msgspec.json.encode(msgspec.json.schema(decider.state), order="deterministic")
    text = b"%d.%d." % (FOLD_VERSION, decider.version) + schema
    return hashlib.sha256(text).hexdigest()[:16]


class Snapshotter:
    """Saves a snapshot whenever `every_events` events have been added, one snapshot at a time."""

    def __init__(
        self,
        decider: Decider[Any],
        partition: Partition,
        store: SnapshotStore,
        every_events: int = SNAPSHOT_EVERY_EVENTS,
    ) -> None:
        self._decider = decider
        self._partition = partition
        self._store = store
        self._version = snapshot_version(decider)
        self._every = every_events
        self._saved_n = 0
        self._task: asyncio.Task[None] | None = None

    async def load(self) -> Fold[Any] | None:
        data = await self._store.load(self._partition, self._version)
        if data is None:
            return None
        try:
            fold = decode_image(self._decider, data)
        except msgspec.DecodeError as error:
            log.warning("snapshot_ignored", context=self._decider.context, error=repr(error))
            return None
        self._saved_n = fold.n
        return fold

    def is_due(self, fold: Fold[Any]) -> bool:
        return fold.n - self._saved_n >= self._every and (self._task is None or self._task.done())

    def take(self, fold: Fold[Any]) -> None:
        """Start a snapshot: fork now. The caller must ensure that the fold holds committed events only."""
        self._saved_n = fold.n
        try:
            image = ForkedImage(fold)
        except OSError:
            # No memory for a child, or no pipe. A snapshot is only a cache: its failure must not end the term.
            metrics.SNAPSHOTS.labels(self._decider.context, "failed").inc()
            log.exception("snapshot_failed", context=self._decider.context)
            return
        self._task = asyncio.create_task(self._save(image, fold.seq))

    async def settle(self) -> None:
        """Wait until the snapshot in progress is saved."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _save(self, image: ForkedImage, seq: int) -> None:
        context = self._decider.context
        try:
            async with aclosing(image):
                size = await self._store.save(self._partition, self._version, image.chunks())
        except Exception:
            # A snapshot is only a cache. The next one is tried after `every_events` more events.
            metrics.SNAPSHOTS.labels(context, "failed").inc()
            log.exception("snapshot_failed", context=context)
        else:
            metrics.SNAPSHOTS.labels(context, "saved").inc()
            metrics.SNAPSHOT_BYTES.labels(context, self._partition.name).set(size)
            log.info("snapshot_saved", context=context, seq=seq, bytes=size)
