"""Finds the newest snapshot of a partition in NATS, of the version that this release's writers use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

import msgspec

from drover.domain.decider import Decider
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import CHUNK_BYTES, SnapshotStore
from drover.writer.fold import FoldImage
from drover.writer.snapshots import snapshot_version


class NewestSnapshot(msgspec.Struct, frozen=True):
    version: str
    seq: int
    """The last commit in it."""
    chunks: AsyncIterator[bytes]


class NewestSnapshots(Protocol):
    def version(self, context: str) -> str: ...

    async def newest(self, partition: Partition) -> NewestSnapshot | None: ...


class StoredSnapshots:
    def __init__(self, store: SnapshotStore, deciders: Mapping[str, Decider[Any]]) -> None:
        self._store = store
        self._deciders = deciders

    def version(self, context: str) -> str:
        return snapshot_version(self._deciders[context])

    async def newest(self, partition: Partition) -> NewestSnapshot | None:
        version = self.version(partition.context)
        data = await self._store.load(partition, version)
        if data is None:
            return None
        return NewestSnapshot(version, msgspec.msgpack.decode(data, type=FoldImage).seq, _chunks(data))


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(data), CHUNK_BYTES):
        yield data[begin : begin + CHUNK_BYTES]
