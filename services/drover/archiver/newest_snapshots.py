"""Finds the newest snapshot of a partition in NATS, of the version that this release's writers use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

import msgspec

from drover.domain.decider import Decider
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import SnapshotInfo, SnapshotSource
from drover.writer.snapshots import snapshot_version


class NewestSnapshot(msgspec.Struct, frozen=True):
    """A snapshot in NATS, and its content in chunks."""

    info: SnapshotInfo
    chunks: AsyncIterator[bytes]


class NewestSnapshots(Protocol):
    def version(self, context: str) -> str:
        """Return the version of the snapshots that this release's writers of the context save."""

    async def newest(self, partition: Partition, up_to: int) -> NewestSnapshot | None:
        """Return the newest snapshot whose last commit is not after `up_to`; None if there is none."""


class StoredSnapshots:
    def __init__(self, source: SnapshotSource, deciders: Mapping[str, Decider[Any]]) -> None:
        self._source = source
        self._deciders = deciders

    def version(self, context: str) -> str:
        return snapshot_version(self._deciders[context])

    async def newest(self, partition: Partition, up_to: int) -> NewestSnapshot | None:
        version = self.version(partition.context)
        for info in await self._source.infos(partition):
            if info.version == version and info.seq <= up_to:
                return NewestSnapshot(info, self._source.read(info))
        return None
