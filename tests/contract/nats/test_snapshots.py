"""One suite for stores of snapshots, run on every adapter; and what JetStream adds: faults, ages, killed processes."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec
import nats.js.api as api
import pytest
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.eventlog import snapshots
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import (
    STREAM,
    JetStreamSnapshots,
    MemorySnapshots,
    SnapshotDamaged,
    SnapshotOutdated,
)
from drover.testing.waiting import eventually
from tests.chunks import each, latest
from tests.contract.nats.conftest import line_to

pytestmark = pytest.mark.req("YR-05")


@pytest.fixture
def partition():
    return Partition(f"c{uuid4().hex[:12]}")


@pytest.fixture
async def jetstream(client):
    store = JetStreamSnapshots(client)
    await store.ensure()
    return store


@pytest.fixture(params=["memory", "jetstream"])
async def store(request, jetstream):
    return MemorySnapshots() if request.param == "memory" else jetstream


async def save(store, partition, *chunks, seq, version="v1"):
    return await store.save(partition, version, each(*chunks), seq=seq, commit=f"c{seq}")


async def chunks_kept(client, partition, version="v1"):
    subject = f"snap.{partition.context}.{partition.name}.{version}.chunk.*.*"
    info = await client.jetstream().stream_info(STREAM, subjects_filter=subject)
    return len(info.state.subjects or ())


async def test_a_snapshot_comes_back_with_what_is_known_about_it(store, partition):
    assert await latest(store, partition, "v1") is None
    chunks = [bytes([number]) * 40_000 for number in range(5)]
    assert await save(store, partition, *chunks, seq=7) == 200_000
    (info,) = await store.infos(partition)
    assert (info.partition, info.version, info.seq, info.commit, info.bytes) == (partition, "v1", 7, "c7", 200_000)
    assert abs(info.saved_at - datetime.now(UTC)) < timedelta(days=1)
    assert await latest(store, partition, "v1") == b"".join(chunks)
    assert await latest(store, partition, "v2") is None


async def test_two_generations_of_each_version_are_kept_the_newest_first(store, partition):
    for seq in (1, 2, 3):
        await save(store, partition, b"one %d" % seq, seq=seq)
    await save(store, partition, b"other", seq=2, version="v2")
    found = [(info.version, info.seq) for info in await store.infos(partition)]
    assert sorted(found, reverse=True) == [("v2", 2), ("v1", 3), ("v1", 2)]
    assert found[0] == ("v1", 3)
    first, before = [info for info in await store.infos(partition) if info.version == "v1"]
    assert [b"".join([chunk async for chunk in store.read(info)]) for info in (first, before)] == [b"one 3", b"one 2"]


async def test_an_older_state_does_not_replace_a_newer_one(store, partition):
    await save(store, partition, b"new", seq=9)
    with pytest.raises(SnapshotOutdated):
        await save(store, partition, b"old", seq=8)
    assert await latest(store, partition, "v1") == b"new"


async def test_a_snapshot_that_breaks_off_leaves_the_one_before_it(store, partition):
    async def breaking_off():
        yield b"new"
        raise ConnectionError

    await save(store, partition, b"old", seq=1)
    with pytest.raises(ConnectionError):
        await store.save(partition, "v1", breaking_off(), seq=2, commit="c2")
    assert await latest(store, partition, "v1") == b"old"
    assert [info.seq for info in await store.infos(partition)] == [1]


async def test_a_snapshot_that_was_replaced_twice_while_it_was_read_says_so(store, partition):
    await save(store, partition, b"a", b"b", seq=1)
    (info,) = await store.infos(partition)
    for seq in (2, 3):
        await save(store, partition, b"c", seq=seq)
    with pytest.raises(SnapshotDamaged):
        [chunk async for chunk in store.read(info)]


# JetStream alone


async def test_only_the_chunks_of_two_generations_stay(jetstream, client, partition):
    for seq in range(1, 5):
        await save(jetstream, partition, b"a", b"b", b"c", seq=seq)
    assert await chunks_kept(client, partition) == 6


async def test_a_missing_chunk_and_a_wrong_checksum_are_noticed(jetstream, client, partition):
    await save(jetstream, partition, b"a", b"b", seq=1)
    (info,) = await jetstream.infos(partition)
    with pytest.raises(SnapshotDamaged, match="checksum"):
        [chunk async for chunk in jetstream.read(msgspec.structs.replace(info, sha256="0" * 64))]
    subject = f"snap.{partition.context}.{partition.name}.v1.chunk.*.1"
    await client.jetstream().purge_stream(STREAM, subject=subject)
    with pytest.raises(SnapshotDamaged, match="chunk 1 of 2"):
        [chunk async for chunk in jetstream.read(info)]


async def test_of_two_that_save_at_once_one_is_dropped_and_the_other_is_whole(jetstream, client, partition):
    await save(jetstream, partition, b"old", seq=1)

    async def slow():
        yield b"slow"
        await save(jetstream, partition, b"quick", seq=3)
        yield b"slow"

    with pytest.raises(SnapshotOutdated):
        await jetstream.save(partition, "v1", slow(), seq=4, commit="c4")
    assert await latest(jetstream, partition, "v1") == b"quick"
    assert await chunks_kept(client, partition) == 2


async def test_an_unused_version_is_removed_after_long_and_never_while_it_is_the_newest(
    jetstream, client, partition, monkeypatch
):
    await save(jetstream, partition, b"one", seq=5)
    await save(jetstream, partition, b"two", seq=4, version="v2")
    assert await latest(jetstream, partition, "v1") == b"one", "another version was written"
    monkeypatch.setattr(snapshots, "UNUSED_VERSION_KEPT_FOR", timedelta(seconds=-1))
    await save(jetstream, partition, b"two", seq=4, version="v2")
    assert await latest(jetstream, partition, "v1") == b"one", "it is the newest of the partition"
    await save(jetstream, partition, b"two", seq=6, version="v2")
    assert {info.version for info in await jetstream.infos(partition)} == {"v2"}
    assert await chunks_kept(client, partition) == 0


async def test_a_manifest_of_an_earlier_release_is_read_and_becomes_the_generation_before(jetstream, client, partition):
    await save(jetstream, partition, b"old", seq=1)
    subject = f"snap.{partition.context}.{partition.name}.v1.manifest"
    (info,) = await jetstream.infos(partition)
    fields = {"id": info.id, "chunks": info.chunks, "bytes": info.bytes, "sha256": info.sha256}
    await client.jetstream().publish(subject, msgspec.json.encode(fields))
    (info,) = await jetstream.infos(partition)
    assert (info.seq, info.commit) == (0, "")
    await save(jetstream, partition, b"new", seq=2)
    assert [info.seq for info in await jetstream.infos(partition)] == [2, 0]


async def test_a_stream_of_an_earlier_release_loses_its_age_limit(own_server):
    async with connected(own_server.url, "contract") as client:
        config = api.StreamConfig(name=STREAM, subjects=["snap.>"], storage=api.StorageType.FILE, max_age=30 * 86400)
        await client.jetstream().add_stream(config)
        await JetStreamSnapshots(client).ensure()
        assert not (await client.jetstream().stream_info(STREAM)).config.max_age


async def test_a_snapshot_is_waited_for_while_nobody_answers(server, jetstream, partition):
    """To take silence for absence would mean to fold the whole log, and an election is silent for some seconds."""
    await save(jetstream, partition, b"state", seq=1)
    async with line_to(server) as (line, through):
        line.refuse()
        await eventually(lambda: not through.is_connected)
        loading = asyncio.create_task(latest(JetStreamSnapshots(through), partition, "v1"))
        await asyncio.sleep(0)
        line.refuse(False)
        assert await asyncio.wait_for(loading, 30) == b"state"


def dying_at(line, step):
    """Cut the line at the request with this number, as if the process was killed before it was sent."""
    requests = 0

    def cut(data):
        nonlocal requests
        requests += data.count(b"PUB ")
        if requests < step:
            return None
        line._refusing = True
        return 0

    return cut


async def killed_while_saving(server, partition, step):
    """Save a snapshot in a process that is killed at its request number `step`. Return whether it was."""
    async with line_to(server) as (line, through):
        line.cut_to_server = dying_at(line, step)
        saving = asyncio.create_task(save(JetStreamSnapshots(through), partition, b"n", b"e", b"w", seq=10 + step))
        await eventually(lambda: line.cuts or saving.done())
        saving.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await saving
        return line.cuts > 0


async def test_a_process_that_is_killed_at_any_step_leaves_a_snapshot_that_can_be_read(
    server, jetstream, client, partition
):
    await save(jetstream, partition, b"first", seq=1)
    await save(jetstream, partition, b"old", seq=2)
    step = 1
    while await killed_while_saving(server, partition, step):
        assert await latest(jetstream, partition, "v1") in (b"old", b"new")
        for info in await jetstream.infos(partition):
            assert b"".join([chunk async for chunk in jetstream.read(info)]) in (b"first", b"old", b"new")
        step += 1
    assert step > 8, "all steps were tried: manifest, three chunks, list, manifest, purges"
    await save(jetstream, partition, b"last", seq=100)
    assert await chunks_kept(client, partition) == 4, "what the killed ones left is gone"
