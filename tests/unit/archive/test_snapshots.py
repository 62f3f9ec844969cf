"""Snapshots in the archive: what a writer that finds none in NATS starts from, and the states of the past."""

from datetime import timedelta

import pytest

from drover.archive.archive import Archive
from drover.archive.creating import create
from drover.archive.folder_store import FolderStore
from drover.archive.snapshots import ArchivedSnapshots, archive_snapshot, put_snapshots_back
from drover.domain.deciders import DECIDERS
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import MemorySnapshots
from drover.writer.fold import Fold, decode_image, encode_image
from drover.writer.idempotency import CommitMark, memory_of, split_id
from drover.writer.snapshots import Snapshotter, snapshot_version
from tests.chunks import each

from .conftest import BEGAN

FLEET = Partition("fleet")
DECIDER = DECIDERS["fleet"]
VERSION = snapshot_version(DECIDER)
COMMAND = "0198c5b1-0000-7000-8000-000000000001"


@pytest.fixture
async def store(tmp_path, stream):
    made = FolderStore(tmp_path)
    await create(made, stream.logs)
    return made


def fold_at(seq):
    """A state that remembers the id of a command."""
    fold = Fold(DECIDER)
    fold.seq, fold.commit, fold.n, fold.at = seq, f"fleet-{seq}", seq, BEGAN + timedelta(minutes=seq)
    key, digest = split_id(COMMAND)
    fold.remembered.absorb(fold.at, {key: memory_of(CommitMark(seq), digest)})
    return fold


async def put_snapshot(store, seq, saved_at=None):
    fold = fold_at(seq)
    data = each(encode_image(fold))
    saved_at = saved_at or fold.at
    await archive_snapshot(store, FLEET, version=VERSION, seq=seq, commit=fold.commit, saved_at=saved_at, chunks=data)


async def put_past(store, seq):
    """Keep a daily state, as the history does: without the ids of commands."""
    fold = fold_at(seq)
    fold.remembered = type(fold.remembered)()
    await ArchivedSnapshots(store).put(FLEET, VERSION, seq, fold.at, encode_image(fold))


async def loaded(store):
    return await Snapshotter(DECIDER, FLEET, MemorySnapshots(), archived=ArchivedSnapshots(store)).load()


@pytest.mark.req("YR-05")
async def test_a_writer_without_a_snapshot_in_nats_loads_the_archived_one(store):
    await put_snapshot(store, 10)
    await put_snapshot(store, 12)
    found = await loaded(store)
    assert (found.seq, found.commit) == (12, "fleet-12")


@pytest.mark.req("YR-05")
async def test_a_state_of_the_past_is_not_a_snapshot_for_a_writer(store):
    """It does not know which commands were executed: a repeated one would be executed again."""
    await put_snapshot(store, 10)
    await put_past(store, 15)
    found = await loaded(store)
    assert found.seq == 10
    assert split_id(COMMAND)[0] in found.remembered.by_key


@pytest.mark.req("YR-05")
async def test_a_snapshot_beyond_the_archived_commits_is_not_used(store, stream):
    """A log that is restored from this archive ends before it, and its writer would refuse to lead."""
    await put_snapshot(store, 18)
    await put_snapshot(store, 22)
    assert (await loaded(store)).seq == 18
    stream.grown(5)
    await create(store, stream.logs)
    assert (await loaded(store)).seq == 22


@pytest.mark.req("YR-06")
async def test_a_state_of_the_past_is_not_put_back_for_writers(store):
    await put_snapshot(store, 10)
    await put_past(store, 15)
    nats = MemorySnapshots()
    await put_snapshots_back(await Archive.open(store, "fleet"), nats)
    assert [(info.version, info.seq) for info in await nats.infos(FLEET)] == [(VERSION, 10)]


@pytest.mark.req("YR-09")
async def test_the_state_of_the_past_that_is_nearest_is_found(store):
    for seq in (5, 10, 15):
        await put_past(store, seq)
    await put_snapshot(store, 12, saved_at=BEGAN)  # by a clock that was behind
    past = ArchivedSnapshots(store)
    image = await past.nearest_before(FLEET, VERSION, BEGAN + timedelta(minutes=11))
    assert decode_image(DECIDER, image).seq == 10
    image = await past.nearest_before(FLEET, VERSION, BEGAN + timedelta(minutes=14))
    assert decode_image(DECIDER, image).seq == 12, "that of a writer is as good"
    assert await past.nearest_before(FLEET, VERSION, BEGAN) is None
    assert await past.nearest_before(FLEET, "another", BEGAN + timedelta(days=1)) is None


@pytest.mark.req("YR-09")
async def test_snapshots_for_writers_do_not_push_states_of_the_past_out(store):
    await put_past(store, 5)
    for seq in range(6, 20):
        await put_snapshot(store, seq)
    kept = [info.seq for info in (await Archive.open(store, "fleet")).snapshots()]
    assert sorted(kept) == [5, 18, 19]
