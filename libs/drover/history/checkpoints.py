"""Saved states of the past (checkpoints) in Postgres, by time. `writer.fold` defines what is in them."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from datetime import datetime
from typing import Final

import msgspec

from drover.eventlog.histories import refuse_another_history
from drover.eventlog.log import EventLog, Partition
from drover.eventlog.snapshots import UNUSED_VERSION_KEPT_FOR, SnapshotDamaged, SnapshotInfo
from drover.postgres.pool import Pool
from drover.writer.fold import FoldImage

_SAVE: Final = """
INSERT INTO drover.fold_checkpoints (context, partition, version, seq, n, at, image)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
"""
_LATEST: Final = """
SELECT DISTINCT ON (version) version, seq, at, octet_length(image) AS bytes FROM drover.fold_checkpoints
WHERE context = $1 AND partition = $2 ORDER BY version, seq DESC
"""
_IMAGE: Final = """
SELECT image FROM drover.fold_checkpoints WHERE context = $1 AND partition = $2 AND version = $3 AND seq = $4
"""
_BEFORE: Final = """
SELECT image FROM drover.fold_checkpoints
WHERE context = $1 AND partition = $2 AND version = $3 AND at <= $4 ORDER BY at DESC, seq DESC LIMIT 1
"""
_FORGET_UNUSED: Final = """
DELETE FROM drover.fold_checkpoints WHERE context = $1 AND partition = $2 AND version IN (
  SELECT version FROM drover.fold_checkpoints WHERE context = $1 AND partition = $2 GROUP BY version
  HAVING max(at) < $3::timestamptz - $4::interval
)
"""


async def refuse_another_past(log: EventLog, seq: int, commit: str) -> None:
    """Raise OfAnotherHistory if a saved state was computed from another log: going on from it would mix both."""
    context = log.partition.context
    await refuse_another_history(
        log,
        seq=seq,
        commit=commit,
        what="A saved state of the past",
        remedy=f"run `drover projection forget {context}`, which drops the saved states, and restart this process.",
    )


class FoldCheckpoints:
    """A `SnapshotStore` that keeps every snapshot, and finds them by time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def save(
        self, partition: Partition, version: str, data: AsyncIterable[bytes], *, seq: int, commit: str
    ) -> int:
        image = b"".join([chunk async for chunk in data])
        head = msgspec.msgpack.decode(image, type=FoldImage)
        key = (partition.context, partition.name, version)
        await self._pool.execute(_SAVE, *key, head.seq, head.n, head.at, image)
        return len(image)

    async def infos(self, partition: Partition) -> list[SnapshotInfo]:
        """Return the latest checkpoint of every version, the newest first."""
        rows = await self._pool.fetch(_LATEST, partition.context, partition.name)
        found = [
            SnapshotInfo(
                partition=partition,
                version=row["version"],
                id=f"{row['version']}-{row['seq']}",
                seq=row["seq"],
                commit="",
                bytes=row["bytes"],
                saved_at=row["at"],
                chunks=1,
                sha256="",
            )
            for row in rows
        ]
        return sorted(found, key=lambda info: info.seq, reverse=True)

    async def read(self, info: SnapshotInfo) -> AsyncIterator[bytes]:
        where = info.partition
        image = await self._pool.fetchval(_IMAGE, where.context, where.name, info.version, info.seq)
        if image is None:
            raise SnapshotDamaged("it is gone")
        yield image

    async def before(self, partition: Partition, version: str, at: datetime) -> bytes | None:
        """Return the latest checkpoint at or before this time, or None."""
        image: bytes | None = await self._pool.fetchval(_BEFORE, partition.context, partition.name, version, at)
        return image

    async def forget_unused(self, partition: Partition, at: datetime) -> None:
        """Remove the checkpoints of versions that no program has written for long before the time `at`. A version that
        runs beside this one, or to which a release may be rolled back, keeps its checkpoints."""
        await self._pool.execute(_FORGET_UNUSED, partition.context, partition.name, at, UNUSED_VERSION_KEPT_FOR)
