"""Snapshots from the archive into the store of a restored log."""

import pytest

from drover.archive.archive import Archive
from drover.archive.creating import create
from drover.archive.folder_store import FolderStore
from drover.archive.snapshots import put_snapshots_back
from drover.archive.writing import record_bottom, writing
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import CHUNK_BYTES, MemorySnapshots
from tests.chunks import each

from .conftest import BEGAN, Stream

pytestmark = pytest.mark.req("YR-11")


class Sizes(MemorySnapshots):
    """Notes the size of each chunk."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    async def save(self, partition, version, data, *, seq, commit):
        async def noted():
            async for chunk in data:
                self.sizes.append(len(chunk))
                yield chunk

        return await super().save(partition, version, noted(), seq=seq, commit=commit)


async def archived(tmp_path, snapshots, bottom):
    store = FolderStore(tmp_path)
    await create(store, Stream("p0", "p1").grown(20).logs)
    async with writing(store, "fleet") as opened:
        for partition, version, seq, state in snapshots:
            await opened.add_snapshot(
                partition=partition, version=version, seq=seq, commit=f"c{seq}", saved_at=BEGAN, chunks=each(state)
            )
    await record_bottom(store, "fleet", bottom)
    return await Archive.open(store, "fleet")


async def kept_in(store):
    found = [info for name in ("p0", "p1") for info in await store.infos(Partition("fleet", name))]
    return {(info.partition.name, info.version, info.seq, info.commit) for info in found}


async def test_the_newest_of_each_partition_and_version_is_put_back_unless_it_is_below_the_bottom(tmp_path):
    archive = await archived(
        tmp_path,
        [("p0", "v1", 3, b"a"), ("p0", "v2", 11, b"b"), ("p0", "v2", 13, b"c"), ("p1", "v2", 10, b"d")],
        {"p0": 11, "p1": 10},
    )
    store = Sizes()
    await put_snapshots_back(archive, store)
    assert await kept_in(store) == {("p0", "v2", 13, "c13"), ("p1", "v2", 10, "c10")}


async def test_one_that_is_newer_stays(tmp_path):
    archive = await archived(tmp_path, [("p0", "v1", 3, b"a")], {})
    store = Sizes()
    await store.save(Partition("fleet", "p0"), "v1", each(b"later"), seq=9, commit="c9")
    await put_snapshots_back(archive, store)
    assert await kept_in(store) == {("p0", "v1", 9, "c9")}


async def test_a_large_one_is_divided_into_chunks_that_fit_into_a_message(tmp_path):
    state = bytes(5 * CHUNK_BYTES + 1)  # it compresses to almost nothing, and comes out in one piece
    archive = await archived(tmp_path, [("p0", "v1", 3, state)], {})
    store = Sizes()
    await put_snapshots_back(archive, store)
    assert max(store.sizes) <= CHUNK_BYTES
    assert list(store.kept.values()) == [state]
