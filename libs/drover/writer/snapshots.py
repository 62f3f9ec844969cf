"""Decides when a writer saves a snapshot of its state, and saves it in a store. `forked_image` encodes it without
blocking the loop."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import aclosing
from functools import cache
from typing import Any, Final

import msgspec
import structlog

from drover.domain.decider import Decider, Migration
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
"""How many snapshots a start tries to read at most. A further try is needed if one is damaged, or was replaced while it
was read."""

log = structlog.get_logger("drover.writer")


def snapshot_version(decider: Decider[Any]) -> str:
    """Return the version under which a decider's snapshots are stored. It changes with the type of the state and the
    version of the rules. Without an entry in `Decider.image_migrations`, a program reads only its own version."""
    text = b"%d.%d." % (FOLD_VERSION, decider.version) + _schema(decider.state)
    return hashlib.sha256(text).hexdigest()[:16]


@cache
def _schema(state: type) -> bytes:
    """Return the schema of a type of state. Cached: a start asks for each one several times."""
    return msgspec.json.encode(_without_texts(msgspec.json.schema(state)), order="deterministic")


def readable_versions(decider: Decider[Any]) -> dict[str, Migration | None]:
    """Return the versions of snapshots that a program can read, its own first. Each comes with the function that
    converts its state to the present form; None: no conversion is needed."""
    return {snapshot_version(decider): None, **decider.image_migrations}


def _without_texts(schema: Any) -> Any:
    """Return a schema without its descriptions. They come from docstrings, and rewording one must not change the
    version."""
    if isinstance(schema, dict):
        return {
            key: _without_texts(part)
            for key, part in schema.items()
            if not (key == "description" and isinstance(part, str))
        }
    return [_without_texts(part) for part in schema] if isinstance(schema, list | tuple) else schema


class Snapshotter:
    """Saves a snapshot after every `every_events` events, and at least once a day. It saves one snapshot at a time."""

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
        self._migrations = readable_versions(decider)
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
        except Exception as error:  # also if a migration fails: without this snapshot the start only takes longer
            raise SnapshotDamaged("its state cannot be decoded") from error

    @property
    def is_saving(self) -> bool:
        return self._task is not None and not self._task.done()

    def is_due(self, fold: Fold[Any]) -> bool:
        if self.is_saving:
            return False
        return fold.n - self._saved_n >= self._every or self._clock.elapsed_s() - self._saved_s >= SNAPSHOT_EVERY_S

    def take(self, fold: Fold[Any]) -> None:
        """Start to save a snapshot of the fold as it is now, in a forked child process. The fold must contain committed
        events only."""
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
            # A snapshot is only a cache. The next one is tried after `every_events` more events, or after a day.
            metrics.SNAPSHOTS.labels(context, "failed").inc()
            log.exception("snapshot_failed", context=context)
        else:
            metrics.SNAPSHOTS.labels(context, "saved").inc()
            metrics.SNAPSHOT_BYTES.labels(context, self._partition.name).set(size)
            log.info("snapshot_saved", context=context, seq=seq, bytes=size)


async def _gather(source: SnapshotSource, info: SnapshotInfo) -> bytearray:
    """Read the chunks of a snapshot into one buffer, because msgpack can only decode it in one piece."""
    data, size = bytearray(info.bytes), 0
    async for chunk in source.read(info):
        if size + len(chunk) > info.bytes:
            raise SnapshotDamaged(f"more than {info.bytes} bytes")
        data[size : size + len(chunk)] = chunk
        size += len(chunk)
    if size < info.bytes:
        raise SnapshotDamaged(f"{size} of {info.bytes} bytes")
    return data
