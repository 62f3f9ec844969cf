"""Saved states of the past (checkpoints) in Postgres, by time. `writer.fold` defines what is in them."""

from __future__ import annotations

from collections.abc import AsyncIterable
from datetime import datetime
from typing import Final

import msgspec

from drover.eventlog.log import Partition
from drover.postgres.pool import Pool
from drover.writer.fold import FoldImage

_SAVE: Final = """
INSERT INTO drover.fold_checkpoints (context, partition, version, seq, n, at, image)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
"""
_LATEST: Final = """
SELECT image FROM drover.fold_checkpoints
WHERE context = $1 AND partition = $2 AND version = $3 ORDER BY seq DESC LIMIT 1
"""
_BEFORE: Final = """
SELECT image FROM drover.fold_checkpoints
WHERE context = $1 AND partition = $2 AND version = $3 AND at <= $4 ORDER BY at DESC, seq DESC LIMIT 1
"""
_FORGET_OTHERS: Final = "DELETE FROM drover.fold_checkpoints WHERE context = $1 AND partition = $2 AND version <> $3"


class FoldCheckpoints:
    """A `SnapshotStore` that keeps every snapshot, and finds them by time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def save(self, partition: Partition, version: str, data: AsyncIterable[bytes]) -> int:
        image = b"".join([chunk async for chunk in data])
        head = msgspec.msgpack.decode(image, type=FoldImage)
        key = (partition.context, partition.name, version)
        await self._pool.execute(_SAVE, *key, head.seq, head.n, head.at, image)
        return len(image)

    async def load(self, partition: Partition, version: str) -> bytes | None:
        image: bytes | None = await self._pool.fetchval(_LATEST, partition.context, partition.name, version)
        return image

    async def before(self, partition: Partition, version: str, at: datetime) -> bytes | None:
        """Return the latest checkpoint at or before this time, or None."""
        image: bytes | None = await self._pool.fetchval(_BEFORE, partition.context, partition.name, version, at)
        return image

    async def forget_others(self, partition: Partition, version: str) -> None:
        """Remove the checkpoints of other versions, because their state or rules differ."""
        await self._pool.execute(_FORGET_OTHERS, partition.context, partition.name, version)
