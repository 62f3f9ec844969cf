"""Saved states of the past (checkpoints) in Postgres, found by time; one of each day is also in the archive.

`writer.fold` defines what is in them, `history.thinning` which are kept."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Collection, Mapping
from datetime import datetime
from typing import Final

import msgspec
import structlog

from drover.domain.decider import Migration
from drover.eventlog.histories import refuse_another_history
from drover.eventlog.log import EventLog, Partition
from drover.eventlog.snapshots import UNUSED_VERSION_KEPT_FOR, SnapshotDamaged, SnapshotInfo
from drover.history.archived_images import ArchivedImages
from drover.history.thinning import HOURLY_FOR, Kept, daily, surplus
from drover.postgres.pool import Pool
from drover.writer.fold import FoldImage, migrate_image

_SAVE: Final = """
INSERT INTO drover.fold_checkpoints (context, partition, version, seq, n, at, image)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
"""
_LATEST: Final = """
SELECT DISTINCT ON (version) version, seq, at, octet_length(image) AS bytes FROM drover.fold_checkpoints
WHERE context = $1 AND partition = $2 ORDER BY version, seq DESC
"""
_BEFORE: Final = """
SELECT version, image FROM drover.fold_checkpoints
WHERE context = $1 AND partition = $2 AND version = ANY ($3::text[]) AND at <= $4 ORDER BY at DESC, seq DESC LIMIT 1
"""
_KEPT: Final = """
SELECT seq, at, is_archived FROM drover.fold_checkpoints WHERE context = $1 AND partition = $2 AND version = $3
"""
_IMAGE: Final = """
SELECT image FROM drover.fold_checkpoints WHERE context = $1 AND partition = $2 AND version = $3 AND seq = $4
"""
_ARCHIVED: Final = """
UPDATE drover.fold_checkpoints SET is_archived = TRUE
WHERE context = $1 AND partition = $2 AND version = $3 AND seq = $4
"""
_REMOVE: Final = """
DELETE FROM drover.fold_checkpoints
WHERE context = $1 AND partition = $2 AND version = $3 AND seq = ANY ($4::int8[])
"""
_FORGET_OTHERS: Final = """
DELETE FROM drover.fold_checkpoints WHERE context = $1 AND partition = $2 AND version IN (
  SELECT version FROM drover.fold_checkpoints WHERE context = $1 AND partition = $2 AND version <> ALL ($3::text[])
  GROUP BY version HAVING max(written_at) < now() - $4::interval
)
"""

log = structlog.get_logger("drover.history")


class _Head(msgspec.Struct):
    """The part of a `FoldImage` that says which moment it is of."""

    seq: int
    at: datetime


def _head(image: bytes) -> _Head:
    return msgspec.msgpack.decode(image, type=_Head)


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
    """A `SnapshotStore` in Postgres that finds snapshots by time. The older they are, the fewer it keeps."""

    def __init__(self, pool: Pool, archived: ArchivedImages | None = None) -> None:
        """`archived`: where one state of each day is kept for ever. None: Postgres keeps it."""
        self._pool = pool
        self._archived = archived

    async def save(
        self, partition: Partition, version: str, data: AsyncIterable[bytes], *, seq: int, commit: str
    ) -> int:
        image = b"".join([chunk async for chunk in data])
        head = msgspec.msgpack.decode(image, type=FoldImage)
        key = (partition.context, partition.name, version)
        await self._pool.execute(_SAVE, *key, head.seq, head.n, head.at, image)
        await self.thin(partition, version)
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

    async def before(
        self, partition: Partition, versions: Mapping[str, Migration | None], at: datetime
    ) -> bytes | None:
        """Return the latest checkpoint at or before a time, in Postgres or in the archive; None if there is none.
        `versions`: those that the caller can read, and how they become the present one (`readable_versions`)."""
        row = await self._pool.fetchrow(_BEFORE, partition.context, partition.name, [*versions], at)
        found = [] if row is None else [(row["version"], row["image"])]
        if self._archived is not None and (row is None or at - _head(row["image"]).at >= HOURLY_FOR):
            archived = [(version, await self._archived_before(partition, version, at)) for version in versions]
            found += [(version, image) for version, image in archived if image is not None]
        if not found:
            return None
        version, image = max(found, key=lambda one: _head(one[1]).seq)
        return migrate_image(image, versions[version])

    async def _archived_before(self, partition: Partition, version: str, at: datetime) -> bytes | None:
        assert self._archived is not None
        try:
            return await self._archived.nearest_before(partition, version, at)
        except SnapshotDamaged as error:
            log.error("archived_state_ignored", context=partition.context, at=at.isoformat(), why=str(error))
            return None

    async def thin(self, partition: Partition, version: str) -> int:
        """Remove the checkpoints that are not needed any more; return how many."""
        gone = surplus(await self._kept(partition, version))
        seqs = [one.seq for one in gone]
        await self._pool.execute(_REMOVE, partition.context, partition.name, version, seqs)
        return len(seqs)

    async def _kept(self, partition: Partition, version: str) -> list[Kept]:
        rows = await self._pool.fetch(_KEPT, partition.context, partition.name, version)
        return [Kept(**row) for row in rows]

    async def archive_daily(self, partition: Partition, version: str) -> None:
        """Copy the first checkpoint of each day to the archive, if it is not there yet. The archiver calls this: no
        process that takes requests may write to the archive. If it fails, the archiver's next round tries again."""
        if self._archived is None:
            return
        key = (partition.context, partition.name, version)
        try:
            for one in daily(await self._kept(partition, version)):
                image = await self._pool.fetchval(_IMAGE, *key, one.seq)
                if image is not None:
                    await self._archived.put(partition, version, one.seq, one.at, image)
                    await self._pool.execute(_ARCHIVED, *key, one.seq)
        except Exception:
            log.exception("daily_state_not_archived", context=partition.context, partition=partition.name)

    async def forget_others(self, partition: Partition, versions: Collection[str]) -> None:
        """Remove the checkpoints of other versions than `versions`, once no program has written such a version for
        long. Until then, a program of that version may run beside this one, or take over again. `versions`: those that
        the caller can read. Their checkpoints stay, however old they are."""
        key = (partition.context, partition.name)
        await self._pool.execute(_FORGET_OTHERS, *key, [*versions], UNUSED_VERSION_KEPT_FOR)
