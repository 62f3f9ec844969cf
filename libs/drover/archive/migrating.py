"""Recreates the stream of a context with today's configuration: archives the stream, checks the archive, deletes the
stream, creates it again and writes the commits back. All writers are stopped meanwhile.

Every step can be repeated. A mark outside the stream says that a run has begun: the next run continues it, and services
refuse to start.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import Final

import msgspec
import nats.js.api as api
from nats.aio.client import Client
from nats.js.errors import NotFoundError
from uuid_utils import uuid4

from drover.archive.archive import Archive, Progress, no_progress
from drover.archive.creating import create
from drover.archive.errors import ForeignArchive, LogInUse, SnapshotTooOld
from drover.archive.purging import ARCHIVER, first_since
from drover.archive.restoring import Restored, restore
from drover.archive.snapshots import ArchivedSnapshots, copy_snapshot
from drover.archive.store import ArchiveStore
from drover.archive.writing import record_bottom
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, BelowBottom, EventLog, Partition
from drover.eventlog.refill import Refill
from drover.eventlog.snapshots import JetStreamSnapshots, SnapshotInfo, SnapshotSource
from drover.eventlog.streams import ensure_stream, partitions_of
from drover.writer.migration_marker import Mark, put_mark, read_marks, remove_mark
from drover.writer.nats_lease import read_holder

MIGRATION_KEY: Final = "drover_migration"
"""The stream's metadata key with the id of the migration that created it."""

Stage = Callable[[str], Progress]
"""Called with the name of a stage. Returns the function that is told the progress of this stage."""


def no_stage(name: str) -> Progress:
    """Report no progress; the default."""
    return no_progress


class Migrated(msgspec.Struct):
    """The result of a migration."""

    context: str
    first: int
    """The sequence of the first commit in the new stream. Those before it are in the archive only."""
    last: int
    """The sequence of the last commit."""
    events: int
    """How many events this run wrote back."""


async def migrate(
    client: Client,
    store: ArchiveStore,
    context: str,
    *,
    keep_since: datetime | None = None,
    versions: Collection[str] = (),
    stage: Stage = no_stage,
) -> Migrated:
    """Recreate the stream of a context, or continue a run that was interrupted.

    `keep_since`: commits before this time stay in the archive only. A continued run uses the value of the first run.
    `versions`: the versions of snapshots that writers can start from; needed with `keep_since`.

    Raises LogInUse if a writer or the archiver leads, NotFoundError if there is no log, and SnapshotTooOld if commits
    that are in no snapshot of their partition would not go back into the stream.
    """
    mark = (await read_marks(client)).get(context)
    if mark is None:
        # Check before the mark is set: a marked log cannot be used until its migration has ended.
        if keep_since is not None:
            await _refuse_without_snapshot(client, store, context, keep_since, versions)
        mark = await _begin(client, context, keep_since)
    work = _Work(client, store, context, mark, versions, stage)
    info = await _info(client, context)
    if info is not None and (info.config.metadata or {}).get(MIGRATION_KEY) != mark.id:
        if info.state.messages or not mark.archived:
            await work.archive()
        # If it is empty and archived, an earlier run was killed right after it had created the new stream.
        await client.jetstream().delete_stream(context.upper())
    restored = await work.refill()
    await remove_mark(client, context)
    return Migrated(context, work.opened.first, restored.last, restored.events)


async def _info(client: Client, context: str) -> api.StreamInfo | None:
    try:
        return await client.jetstream().stream_info(context.upper())
    except NotFoundError:
        return None


async def _begin(client: Client, context: str, keep_since: datetime | None) -> Mark:
    """Mark the context as being migrated. Raises LogInUse if a writer or the archiver leads."""
    partitions = await partitions_of(client, context)
    config = (await client.jetstream().stream_info(context.upper())).config
    await _refuse_leaders(client, partitions)
    mark = Mark(
        id=uuid4().hex,
        partitions=len(partitions),
        replicas=config.num_replicas or 1,
        max_bytes=config.max_bytes or -1,
        metadata={name: text for name, text in (config.metadata or {}).items() if not name.startswith("_nats.")},
        since=datetime.now(UTC),
        keep_since=keep_since,
    )
    await put_mark(client, context, mark)
    try:
        await _refuse_leaders(client, partitions)  # a writer may have started before it could see the mark
    except LogInUse:
        await remove_mark(client, context)
        raise
    return mark


async def _refuse_without_snapshot(
    client: Client, store: ArchiveStore, context: str, moment: datetime, versions: Collection[str]
) -> None:
    """Raise SnapshotTooOld unless each partition has a snapshot at or after the first commit that goes back into the
    stream."""
    whole = JetStreamLog(client, Partition(context, ALL))
    last = await whole.last()
    if last is None:
        return
    first = await first_since(whole, moment, last)
    logs = [JetStreamLog(client, partition) for partition in await partitions_of(client, context)]
    lasts = [(log, found) for log in logs if (found := await log.last()) is not None]
    first = min(first, *(found.seq for _, found in lasts))
    if await log_begins_at(client, context) >= first:
        return  # all commits of the stream go back
    sources = (JetStreamSnapshots(client), ArchivedSnapshots(store))
    for log, _ in lasts:
        seqs = [info.seq for source in sources if (info := await _newest(source, log, versions)) is not None]
        if max(seqs, default=0) < first:
            raise SnapshotTooOld(str(log.partition), max(seqs, default=0), first)


async def _newest(source: SnapshotSource, log: EventLog, versions: Collection[str]) -> SnapshotInfo | None:
    """Return the newest snapshot of these versions that belongs to the log."""
    for info in await source.infos(log.partition):
        if info.version in versions and info.seq:
            with suppress(BelowBottom):
                found = await log.get(info.seq)
                if found is not None and found.id == info.commit:
                    return info
    return None


async def log_begins_at(client: Client, context: str) -> int:
    """Return the first position that the stream still has."""
    return int((await client.jetstream().stream_info(context.upper())).state.first_seq)


async def _refuse_leaders(client: Client, partitions: tuple[Partition, ...]) -> None:
    """Raise LogInUse if a writer leads, or if the archiver does, because it would purge commits that are being written
    back."""
    for partition in (*partitions, ARCHIVER):
        if (holder := await read_holder(client, partition)) is not None:
            raise LogInUse(str(partition), holder.instance)


class _Work:
    def __init__(
        self,
        client: Client,
        store: ArchiveStore,
        context: str,
        mark: Mark,
        versions: Collection[str],
        stage: Stage,
    ) -> None:
        self.opened: Archive
        self._client = client
        self._store = store
        self._context = context
        self._mark = mark
        self._versions = versions
        self._stage = stage

    async def archive(self) -> None:
        """Archive the whole stream, check the archive, and record in the mark that the stream may be deleted."""
        await self._fence()
        partitions = await partitions_of(self._client, self._context)
        await _refuse_leaders(self._client, partitions)
        logs = [JetStreamLog(self._client, partition) for partition in partitions]
        await create(self._store, logs, progress=self._stage(f"archive {self._context}"))
        archive = await Archive.open(self._store, self._context)
        if damaged := await archive.verify(self._stage(f"verify {self._context}")):
            raise damaged[0]
        await self._same_end(archive)
        if archive.last:
            first = max(archive.first, await self._first(archive, logs))
            await record_bottom(self._store, self._context, dict.fromkeys(archive.index.partitions, first))
        self._mark = msgspec.structs.replace(self._mark, archived=(archive.last, archive.last_commit))
        await put_mark(self._client, self._context, self._mark)

    async def _lowest_snapshot(self, logs: Sequence[EventLog]) -> int:
        """Copy the newest snapshot of each partition into the archive, as the archiver does before it purges. Return
        the lowest position of these snapshots."""
        snapshots, archived = JetStreamSnapshots(self._client), ArchivedSnapshots(self._store)
        seqs: list[int] = []
        for log in logs:
            if (info := await _newest(snapshots, log, self._versions)) is not None:
                await copy_snapshot(self._store, info, snapshots.read(info))
            if await log.last() is not None:
                found = await _newest(archived, log, self._versions)
                seqs.append(found.seq if found else 1)
        return min(seqs)

    async def _fence(self) -> None:
        """Make the stream refuse new messages, so that nothing is written after it was archived."""
        jetstream = self._client.jetstream()
        info = await jetstream.stream_info(self._context.upper())
        if (info.config.max_msgs or -1) < 1:
            await jetstream.update_stream(info.config.evolve(max_msgs=max(info.state.messages, 1)))

    async def _same_end(self, archive: Archive) -> None:
        """Raise ForeignArchive unless the archive ends with the last commit of the stream."""
        last = await Refill(self._client, self._context).last()
        if (last.seq, last.id) != (archive.last, archive.last_commit) if last else archive.last:
            raise ForeignArchive(self._context, archive.last, "the log has another last commit")

    async def _first(self, archive: Archive, logs: Sequence[EventLog]) -> int:
        """Return the sequence of the first commit that goes back into the stream. It is never after the last commit of
        a partition, nor after its newest snapshot."""
        if self._mark.keep_since is None:
            return 1
        lasts = await archive.previous(archive.last)
        first = await self._first_since(archive, self._mark.keep_since)
        return min(*lasts.values(), await self._lowest_snapshot(logs), first)

    async def _first_since(self, archive: Archive, moment: datetime) -> int:
        after = await archive.end_before(moment)
        async with aclosing(archive.commits(after)) as commits:
            async for placed in commits:
                if placed.commit.stored_at >= moment:
                    return placed.commit.seq
        return archive.last

    async def refill(self) -> Restored:
        """Create the new stream if it is missing, and write the commits into it."""
        archive = self.opened = await Archive.open(self._store, self._context)
        if (archive.last, archive.last_commit) != self._mark.archived:
            reason = "the stream was copied to another archive before it was deleted, so that one is needed"
            raise ForeignArchive(self._context, archive.last, reason)
        if await _info(self._client, self._context) is None:
            await self._create()
        progress, checking = self._stage(f"refill {self._context}"), self._stage(f"check {self._context}")
        return await restore(Refill(self._client, self._context), archive, progress=progress, checking=checking)

    async def _create(self) -> None:
        mark, jetstream = self._mark, self._client.jetstream()
        first = self.opened.first
        await ensure_stream(
            self._client, self._context, replicas=mark.replicas, partitions=mark.partitions, first_seq=first
        )
        config = (await jetstream.stream_info(self._context.upper())).config
        metadata = {**(config.metadata or {}), **mark.metadata, MIGRATION_KEY: mark.id}
        await jetstream.update_stream(config.evolve(metadata=metadata, max_bytes=mark.max_bytes))
