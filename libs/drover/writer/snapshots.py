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
from drover.eventlog.snapshots import (
    SnapshotDamaged,
    SnapshotInfo,
    SnapshotOutdated,
    SnapshotSource,
    SnapshotStore,
)
from drover.writer import metrics
from drover.writer.clock import Clock, SystemClock
from drover.writer.fold import FOLD_VERSION, Fold, decode_image
from drover.writer.forked_image import ForkedImage

SNAPSHOT_EVERY_EVENTS: Final = 50_000
SNAPSHOT_EVERY_S: Final = 24 * 3600.0
LOADS_MAX: Final = 10
"""How many snapshots a start tries to read, if they are damaged or replaced meanwhile."""

log = structlog.get_logger("drover.writer")


def snapshot_version(decider: Decider[Any]) -> str:
    """Return the version under which a decider's snapshots are stored. It changes with the type of the state and the
    version of the rules. Without an entry in `Decider.image_migrations`, a program reads only its own version."""
    schema = msgspec.json.encode(_without_texts(msgspec.json.schema(decider.state)), order="deterministic")
    text = b"%d.%d." % (FOLD_VERSION, decider.version) + schema
    return hashlib.sha256(text).hexdigest()[:16]


def readable_versions(decider: Decider[Any]) -> frozenset[str]:
    """Return the versions of the snapshots that a decider's writer can start from."""
    return frozenset({*decider.image_migrations, snapshot_version(decider)})


def _without_texts(schema: Any) -> Any:
    """Take the docstrings out of a schema: a better sentence is not another form."""
    if isinstance(schema, dict):
        return {
            key: _without_texts(part)
            for key, part in schema.items()
            if not (key == "description" and isinstance(part, str))
        }
    return [_without_texts(part) for part in schema] if isinstance(schema, list | tuple) else schema


class Snapshotter:
    """Saves a snapshot whenever `every_events` events have been added, and at least once a day; one snapshot at a
    time."""

    def __init__(
        self,
        decider: Decider[Any],
        partition: Partition,
        store: SnapshotStore,
        every_events: int = SNAPSHOT_EVERY_EVENTS,
        *,
        archived: SnapshotSource | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`archived`: where to look if the store has no snapshot that this program can read."""
        self._decider = decider
        self._partition = partition
        self._store = store
        self._sources: tuple[SnapshotSource, ...] = (store,) if archived is None else (store, archived)
        self._version = snapshot_version(decider)
        self._migrations = {**decider.image_migrations, self._version: None}
        self._every = every_events
        self._clock = clock or SystemClock()
        self._saved_n = 0
        self._saved_s = self._clock.elapsed_s()
        self._task: asyncio.Task[None] | None = None

    async def load(self) -> Fold[Any] | None:
        """Load the newest snapshot that this program can read and that is not damaged. None: there is none."""
        for source in self._sources:
            if (fold := await self._load_from(source)) is not None:
                return fold
        return None

    async def known(self) -> list[SnapshotInfo]:
        """Return the newest snapshot of every version in the store."""
        newest: dict[str, SnapshotInfo] = {}
        for info in await self._store.infos(self._partition):
            newest.setdefault(info.version, info)
        return list(newest.values())

    async def _load_from(self, source: SnapshotSource) -> Fold[Any] | None:
        damaged: set[str] = set()
        for _ in range(LOADS_MAX):
            # List again each time: a newer snapshot may have replaced the one that we were reading.
            listed = await source.infos(self._partition)
            usable = (info for info in listed if info.version in self._migrations and info.id not in damaged)
            info = next(usable, None)
            if info is None:
                return None
            try:
                fold = self._decode(await _gather(source, info), info.version)
            except SnapshotDamaged as error:
                log.error(
                    "snapshot_ignored", context=self._decider.context, why=str(error), cause=repr(error.__cause__)
                )
                damaged.add(info.id)
            else:
                age_s = max((self._clock.now() - info.saved_at).total_seconds(), 0.0)
                self._saved_n, self._saved_s = fold.n, self._clock.elapsed_s() - age_s
                return fold
        return None

    def _decode(self, data: bytearray, version: str) -> Fold[Any]:
        try:
            return decode_image(self._decider, data, self._migrations[version])
        except Exception as error:  # also a fault in a migration: without this snapshot the start only takes longer
            raise SnapshotDamaged("its state cannot be decoded") from error

    @property
    def is_saving(self) -> bool:
        return self._task is not None and not self._task.done()

    def is_due(self, fold: Fold[Any]) -> bool:
        if self.is_saving:
            return False
        return fold.n - self._saved_n >= self._every or self._clock.elapsed_s() - self._saved_s >= SNAPSHOT_EVERY_S

    def take(self, fold: Fold[Any]) -> None:
        """Start a snapshot: fork now. The caller must ensure that the fold holds committed events only."""
        self._saved_n, self._saved_s = fold.n, self._clock.elapsed_s()
        try:
            image = ForkedImage(fold)
        except OSError:
            # No memory for a child, or no pipe. A snapshot is only a cache: its failure must not end the term.
            metrics.SNAPSHOTS.labels(self._decider.context, "failed").inc()
            log.exception("snapshot_failed", context=self._decider.context)
            return
        self._task = asyncio.create_task(self._save(image, fold.seq, fold.commit))

    async def settle(self) -> None:
        """Wait until the snapshot in progress is saved."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _save(self, image: ForkedImage, seq: int, commit: str) -> None:
        context = self._decider.context
        try:
            async with aclosing(image):
                size = await self._store.save(self._partition, self._version, image.chunks(), seq=seq, commit=commit)
        except SnapshotOutdated as outdated:
            log.info("snapshot_dropped", context=context, why=str(outdated))
        except Exception:
            # A snapshot is only a cache. The next one is tried after `every_events` more events.
            metrics.SNAPSHOTS.labels(context, "failed").inc()
            log.exception("snapshot_failed", context=context)
        else:
            metrics.SNAPSHOTS.labels(context, "saved").inc()
            metrics.SNAPSHOT_BYTES.labels(context, self._partition.name).set(size)
            log.info("snapshot_saved", context=context, seq=seq, bytes=size)


async def _gather(source: SnapshotSource, info: SnapshotInfo) -> bytearray:
    """Read the chunks into one buffer of the right size: msgpack is decoded from one piece."""
    data, size = bytearray(info.bytes), 0
    async for chunk in source.read(info):
        if size + len(chunk) > info.bytes:
            raise SnapshotDamaged(f"more than {info.bytes} bytes")
        data[size : size + len(chunk)] = chunk
        size += len(chunk)
    if size < info.bytes:
        raise SnapshotDamaged(f"{size} of {info.bytes} bytes")
    return data
