"""Recreating the stream of a log: killed at any step it goes on, and no commit is lost."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from uuid_utils import uuid4

from drover.archive.archive import Archive
from drover.archive.errors import ArchiveMissing, ForeignArchive, LogInUse, SnapshotTooOld
from drover.archive.folder_store import FolderStore
from drover.archive.migrating import migrate
from drover.archive.purging import ARCHIVER
from drover.bus.connection import connected
from drover.eventlog import refill
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, Commit, Partition
from drover.eventlog.reactor_switch import contexts_with_reactors_off, switch_reactors
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.eventlog.streams import ensure_stream
from drover.writer.clock import SystemClock
from drover.writer.migration_marker import HalfMigrated, read_marks
from drover.writer.nats_lease import NatsLease
from drover.writer.nats_writer import prepare
from tests.chunks import each

pytestmark = pytest.mark.req("YR-01")
COMMITS = 24
VERSION = "v1"
VERSIONS = (VERSION,)


@asynccontextmanager
async def filled(client, commits=COMMITS):
    """A log of two partitions. The second one has no commit near the end."""
    context = f"t{uuid4().hex[:12]}"
    await ensure_stream(client, context, partitions=2)
    lasts, ordinals = {"p0": 0, "p1": 0}, {"p0": 0, "p1": 0}
    for number in range(commits):
        name = "p1" if number % 2 and number < commits - 8 else "p0"
        ordinals[name] += 1
        payload = b'{"type":"X","n":%d,"at":"2026-01-31T08:00:00Z","by":""}\n' % ordinals[name]
        log = JetStreamLog(client, Partition(context, name))
        lasts[name] = await log.append(Commit(f"id-{number}", 1, payload), lasts[name])
    try:
        yield context
    finally:
        await client.jetstream().delete_stream(context.upper())


async def read_back(client, context):
    """Read all that the stream has."""
    whole = JetStreamLog(client, Partition(context, ALL))
    last, first = await whole.last(), (await state_of(client, context)).first_seq
    found = []
    async with whole.read(first - 1) as reader:
        while not found or found[-1].seq < last.seq:
            found += await reader.next()
    return found


async def take_snapshots(client, context, upto=None):
    """Save a snapshot of each partition, at the last commit up to a position."""
    snapshots = JetStreamSnapshots(client)
    await snapshots.ensure()
    for name in ("p0", "p1"):
        log = JetStreamLog(client, Partition(context, name))
        at = await log.last()
        while upto is not None and at.seq > upto:
            at = await log.get(at.seq - 1)
        await snapshots.save(Partition(context, name), VERSION, each(b"a state"), seq=at.seq, commit=at.id)


async def state_of(client, context):
    return (await client.jetstream().stream_info(context.upper())).state


class Killed(BaseException):
    """The process ends here."""


class Mortal:
    """A client whose process ends at one of the requests that change something: before it is sent, or after."""

    VERBS = ("STREAM.CREATE", "STREAM.UPDATE", "STREAM.DELETE", "evt.")

    def __init__(self, client, monkeypatch, step, *, after):
        real = client.request
        self.changes = 0

        async def request(subject, *args, **kwargs):
            counts = any(verb in subject for verb in self.VERBS)
            self.changes += counts
            if counts and self.changes == step and not after:
                raise Killed
            answer = await real(subject, *args, **kwargs)
            if counts and self.changes == step:
                raise Killed
            return answer

        monkeypatch.setattr(client, "request", request)


@pytest.fixture
async def client(nats):
    async with connected(nats.url, "test") as client:
        yield client


@pytest.fixture
def store(tmp_path):
    return FolderStore(tmp_path / "archive")


async def test_a_recreated_log_is_the_same_log(client, store):
    async with filled(client) as context:
        had = await read_back(client, context)
        await switch_reactors(client, context, on=False)
        made = await migrate(client, store, context)
        assert (made.first, made.last, made.events) == (1, COMMITS, COMMITS)
        assert await read_back(client, context) == had
        assert await contexts_with_reactors_off(client, [context]) == {context}, "as it was before"
        assert await read_marks(client) == {}
        assert (await prepare(client, (context,)))[context] == (Partition(context, "p0"), Partition(context, "p1"))
        log = JetStreamLog(client, Partition(context, "p0"))
        assert await log.append(Commit("next", 2, b"{}\n"), COMMITS) == COMMITS + 1


async def test_only_the_tail_is_kept_and_the_last_commit_of_each_partition(client, store):
    async with filled(client) as context:
        had = await read_back(client, context)
        await take_snapshots(client, context)
        made = await migrate(client, store, context, keep_since=had[-3].stored_at, versions=VERSIONS)
        quiet = max(commit.seq for commit in had if commit.id == f"id-{COMMITS - 9}")
        assert (made.first, made.last) == (quiet, COMMITS), "the quiet partition's last commit is older"
        assert await read_back(client, context) == had[quiet - 1 :]
        archive = await Archive.open(store, context)
        assert [placed.commit async for placed in archive.commits()] == had
        assert archive.first == quiet


async def test_without_a_snapshot_at_the_new_bottom_nothing_leaves_and_nothing_is_changed(client, store):
    async with filled(client) as context:
        had = await read_back(client, context)
        wanted = had[-3].stored_at  # the quiet partition's last commit is lower, and stays
        for taken, version in ((None, VERSION), (4, VERSION), (COMMITS, "of a release that nobody has")):
            if taken is not None:
                await take_snapshots(client, context, upto=taken)
            versions = (version,)
            with pytest.raises(SnapshotTooOld, match=rf"{context}/p0 .*larger --keep"):
                await migrate(client, store, context, keep_since=wanted, versions=versions)
            assert await read_marks(client) == {}, "services start as before"
            assert await read_back(client, context) == had
        assert (await migrate(client, store, context, keep_since=wanted, versions=VERSIONS)).first > 1
        archived = (await Archive.open(store, context)).snapshots()
        assert {one.partition for one in archived} == {"p0", "p1"}, "they are in the archive, too"
        assert min(one.seq for one in archived) >= (await state_of(client, context)).first_seq


@pytest.mark.parametrize("after", [False, True], ids=["before it is sent", "after it was sent"])
async def test_killed_at_any_step_it_goes_on_and_loses_nothing(nats, store, monkeypatch, tmp_path, after):
    monkeypatch.setattr(refill, "BATCH_COMMITS", 10)
    step, killed = 0, 0
    while True:
        step += 1
        place = FolderStore(tmp_path / f"{step}")
        async with connected(nats.url, "test") as client, filled(client) as context:
            had = await read_back(client, context)
            keep = had[10].stored_at if step % 2 else None
            await take_snapshots(client, context)
            with monkeypatch.context() as patch:
                mortal = Mortal(client, patch, step, after=after)
                try:
                    await migrate(client, place, context, keep_since=keep, versions=VERSIONS)
                except Killed:
                    killed += 1
            if await read_marks(client):
                with pytest.raises(HalfMigrated, match="drover log migrate"):
                    await prepare(client, (context,))
                await migrate(client, place, context, keep_since=None, versions=VERSIONS)
            assert await read_marks(client) == {}
            kept = await read_back(client, context)
            assert kept == had[-len(kept) :]
            if (await state_of(client, context)).first_seq > 1:
                archive = await Archive.open(place, context)
                assert [placed.commit async for placed in archive.commits()] == had
            else:
                assert kept == had
        if mortal.changes < step:
            break
    assert killed > 8


@pytest.mark.parametrize("who", ["a writer", "the archiver"])
async def test_whoever_leads_is_named_and_nothing_is_changed(client, store, who):
    async with filled(client, 4) as context:
        await prepare(client, (context,))
        leads = Partition(context, "p1") if who == "a writer" else ARCHIVER
        lease = NatsLease(client, leads, instance="host-7", token="x", clock=SystemClock())
        await lease.acquire()
        with pytest.raises(LogInUse, match=f"host-7 leads {leads}"):
            await migrate(client, store, context)
        assert await read_marks(client) == {}
        await lease.release()
        assert (await migrate(client, store, context)).last == 4


async def test_while_it_is_archived_nobody_can_append(client, store, monkeypatch):
    async with filled(client) as context:
        with monkeypatch.context() as patch:
            Mortal(client, patch, 4, after=False)  # mark, fence, note, and killed before it deletes the stream
            with pytest.raises(Killed):
                await migrate(client, store, context)
        reply = await client.request(f"evt.{context}.p0", b"{}\n", timeout=5)
        assert b"maximum messages exceeded" in reply.data
        await migrate(client, store, context)
        assert (await state_of(client, context)).messages == COMMITS


async def test_with_another_archive_it_does_not_go_on(client, store, tmp_path, monkeypatch):
    async with filled(client) as context:
        with monkeypatch.context() as patch:
            Mortal(client, patch, 4, after=True)  # killed when the stream is deleted
            with pytest.raises(Killed):
                await migrate(client, store, context)
        with pytest.raises(ArchiveMissing):
            await migrate(client, FolderStore(tmp_path / "another"), context)
        await migrate(client, store, context)
        assert (await state_of(client, context)).messages == COMMITS


async def test_an_archive_of_another_log_is_refused_before_anything_is_deleted(client, store):
    async with filled(client) as context:
        await migrate(client, store, context)
        await client.jetstream().delete_stream(context.upper())
        await ensure_stream(client, context, partitions=2)
        with pytest.raises(ForeignArchive):
            await migrate(client, store, context)
        assert (await state_of(client, context)).messages == 0


@pytest.mark.control
async def test_without_the_fence_a_commit_after_the_archive_would_be_lost(client, store, monkeypatch):
    from drover.archive import migrating

    async def open_gate(self):
        pass

    async with filled(client) as context:
        log = JetStreamLog(client, Partition(context, "p0"))
        real = migrating.put_mark

        async def written_meanwhile(client, context, mark):
            if mark.archived:
                await log.append(Commit("acknowledged", 1, b"{}\n"), COMMITS)
            await real(client, context, mark)

        monkeypatch.setattr(migrating, "put_mark", written_meanwhile)
        monkeypatch.setattr(migrating._Work, "_fence", open_gate)
        await migrate(client, store, context)
        assert (await log.last()).id != "acknowledged"
