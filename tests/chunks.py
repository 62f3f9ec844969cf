"""A snapshot in pieces, as it comes out of the child that encodes it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from drover.eventlog.log import Partition
from drover.eventlog.snapshots import SnapshotSource


async def each(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def latest(store: SnapshotSource, partition: Partition, version: str) -> bytes | None:
    """Read the newest snapshot of a version, or None."""
    for info in await store.infos(partition):
        if info.version == version:
            return b"".join([chunk async for chunk in store.read(info)])
    return None
