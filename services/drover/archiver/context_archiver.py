"""One round for one context: copies new commits into the archive, and the newest snapshot if a purge needs it; reads
back what is to be removed; then removes commits from NATS that nobody needs there.

The order makes every interruption harmless: each step only relies on steps that have ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

import msgspec
import structlog
from nats.aio.client import Client
from nats.js.api import StreamState

from drover.archive.creating import Archived
from drover.archive.purging import SNAPSHOT, Limit, Standing, first_since, purge, purge_limit
from drover.archive.retention import Keep, beyond_size
from drover.archiver import metrics
from drover.archiver.newest_snapshots import NewestSnapshot, NewestSnapshots
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import EventLog, Partition, StoredCommit

log = structlog.get_logger("drover.archiver")


class Keeper(Protocol):
    """Writes the archive of the context: see `ArchiveKeeper`."""

    async def archive(self, logs: Sequence[EventLog]) -> Archived: ...

    async def lasts(self) -> Mapping[str, int]: ...

    async def check(self, first: int, below: int) -> None: ...

    async def snapshot(self, partition: str, version: str) -> int: ...

    async def save_snapshot(self, newest: NewestSnapshot) -> None: ...

    async def record_bottom(self, partition: str, bottom: int) -> None: ...


class DailyStates(Protocol):
    """Copies saved states of the past to the archive: see `FoldCheckpoints`."""

    async def archive_daily(self, partition: Partition, version: str) -> None: ...


class Positions(Protocol):
    """Knows how far other readers are: see `ReaderPositions`."""

    async def of(self, context: str, partitions: Sequence[Partition]) -> dict[str, dict[str, int]]: ...


class ContextArchiver:
    def __init__(
        self,
        client: Client,
        partitions: Sequence[Partition],
        keeper: Keeper,
        positions: Positions,
        snapshots: NewestSnapshots,
        keep: Keep,
        states: DailyStates | None = None,
    ) -> None:
        """`states`: the saved states of the past, of which one for each day is copied to the archive. None: they are
        not copied."""
        self.context = partitions[0].context
        self._client = client
        self._keeper = keeper
        self._positions = positions
        self._snapshots = snapshots
        self._keep = keep
        self._states = states
        self._partitions = partitions
        self._logs = [JetStreamLog(client, partition) for partition in partitions]
        self._held: dict[str, str] = {}
        """By partition, the reason of the last round's limit (`Limit.reason`). It is logged only when it changes."""

    async def round(self) -> None:
        archived = await self._keeper.archive(self._logs)
        metrics.ARCHIVED.labels(self.context).set(archived.last)
        if self._states is not None:
            for partition in self._partitions:
                await self._states.archive_daily(partition, self._snapshots.version(self.context))
        if not self._keep.all:
            await self._purge()
        metrics.SUCCEEDED.labels(self.context).set_to_current_time()

    async def _purge(self) -> None:
        archived = await self._keeper.lasts()
        positions = await self._positions.of(self.context, self._partitions)
        stream = (await self._client.jetstream().stream_info(self._partitions[0].stream)).state
        lasts = [(event_log, last) for event_log in self._logs if (last := await event_log.last()) is not None]
        newest_at = max((last.stored_at for _, last in lasts), default=datetime.now(UTC))
        for event_log, last in lasts:
            name = event_log.partition.name
            if name not in archived:
                continue
            standing = Standing(
                last=last.seq,
                archived=archived[name],
                snapshot=await self._keeper.snapshot(name, self._snapshots.version(self.context)),
                positions=positions[name],
                unwanted=await self._unwanted(event_log, last, stream, newest_at),
            )
            await self._purge_partition(event_log, standing)

    async def _purge_partition(self, event_log: JetStreamLog, standing: Standing) -> None:
        partition = event_log.partition
        limit = purge_limit(standing)
        if limit.reason == SNAPSHOT:
            limit = await self._with_newer_snapshot(partition, standing)
        first = await event_log.next_after(0)
        assert first is not None, "the last commit is there"
        metrics.BOTTOM.labels(self.context, partition.name).set(max(limit.below, first.seq))
        if limit.below > first.seq:
            await self._keeper.check(first.seq, limit.below)
            await self._keeper.record_bottom(partition.name, limit.below)
            purged = await purge(self._client, partition, below=limit.below, archived=standing.archived)
            metrics.PURGED.labels(self.context).inc(purged)
            log.info("log_purged", partition=str(partition), below=limit.below, commits=purged, held_by=limit.reason)
        elif self._held.get(partition.name) != limit.reason:
            log.info("log_kept", partition=str(partition), first=first.seq, held_by=limit.reason)
        self._held[partition.name] = limit.reason

    async def _with_newer_snapshot(self, partition: Partition, standing: Standing) -> Limit:
        """Archive the newest snapshot if it is newer than the archived one, and return the limit that then applies to
        the purge. Only a snapshot whose last commit is in the archive is taken, because a restored log ends where the
        archive ends."""
        newest = await self._snapshots.newest(partition, up_to=standing.archived)
        if newest is None or newest.info.seq <= standing.snapshot:
            return purge_limit(standing)
        await self._keeper.save_snapshot(newest)
        return purge_limit(msgspec.structs.replace(standing, snapshot=newest.info.seq))

    async def _unwanted(
        self, event_log: JetStreamLog, last: StoredCommit, stream: StreamState, newest_at: datetime
    ) -> int:
        """Return the first commit of a partition that DROVER_LOG_KEEP keeps. `newest_at`: when the newest commit of the
        context was stored."""
        if self._keep.bytes is not None:
            return beyond_size(
                bytes_max=self._keep.bytes, size=stream.bytes, messages=stream.messages, last=stream.last_seq
            )
        assert self._keep.span is not None
        # Not after the newest commit: a clock that is ahead would empty the stream.
        now = min(datetime.now(UTC), newest_at)
        return await first_since(event_log, now - self._keep.span, last)
