"""One suite for the places of archives, run on a folder and on a bucket; and what a bucket does when it is away."""

import socket

import pytest

from drover.archive.archive import Archive, archived_contexts
from drover.archive.creating import create
from drover.archive.errors import ArchiveBusy, ArchiveUnreachable, FileDamaged
from drover.archive.folder_store import FolderStore
from drover.archive.opening import open_store
from drover.archive.s3_store import S3Archives
from drover.archive.store import FileMissing
from drover.archive.writing import record_bottom, writing
from tests.bucket import KEY_ID, SECRET
from tests.chunks import each
from tests.unit.archive.conftest import BEGAN, Stream, all_of

pytestmark = pytest.mark.req("YR-03")
BYTES_MAX = 100


@pytest.fixture(params=["folder", "bucket"])
def store(request, tmp_path):
    if request.param == "folder":
        return open_store(tmp_path / "archive")
    bucket = request.getfixturevalue("bucket")
    return open_store(f"s3://{bucket.name}/some/prefix", bucket.settings)


@pytest.fixture
async def folder(store):
    async with store.locked("fleet"):
        yield "fleet"


async def test_what_is_written_is_read_back(store, folder):
    await store.write("fleet/a", b"one")
    assert (await store.read("fleet/a", BYTES_MAX)).data == b"one"
    await store.write("fleet/a", b"another")
    assert (await store.read("fleet/a", BYTES_MAX)).data == b"another"
    assert "a" in await store.names("fleet")
    assert await store.folders() == ["fleet"]


async def test_what_is_not_there_is_missing(store, folder):
    with pytest.raises(FileMissing):
        await store.read("fleet/a", BYTES_MAX)
    with pytest.raises(FileMissing):
        await anext(store.read_chunks("fleet/a"))
    await store.delete("fleet/a")
    assert await store.names("render") == []


async def test_a_folder_is_removed_with_everything_in_it_and_nothing_else(store):
    for name in ("2026-11-18/a/1", "2026-11-18/a/2", "2026-11-18/b/3", "2026-11-19/a/4"):
        await store.write(name, b"picture")
    await store.remove("2026-11-18/a")
    assert await store.names("2026-11-18/a") == []
    assert await store.names("2026-11-18/b") == ["3"]
    await store.remove("2026-11-18")
    await store.remove("2026-11-18")
    assert await store.folders() == ["2026-11-19"]
    assert (await store.read("2026-11-19/a/4", BYTES_MAX)).data == b"picture"


async def test_a_file_that_is_too_large_is_not_read_into_memory(store, folder):
    await store.write("fleet/a", b"x" * (BYTES_MAX + 1))
    with pytest.raises(FileDamaged, match="101 bytes"):
        await store.read("fleet/a", BYTES_MAX)


async def test_files_of_any_size_are_written_and_read_in_chunks(store, folder):
    chunks = [bytes([number]) * 1_000_000 for number in range(40)]
    await store.write_chunks("fleet/snapshots/large", each(*chunks))
    found = [chunk async for chunk in store.read_chunks("fleet/snapshots/large")]
    assert len(found) > 10
    assert b"".join(found) == b"".join(chunks)
    assert await store.names("fleet/snapshots") == ["large"]
    assert "large" not in await store.names("fleet"), "only the folder's own files"


async def test_a_file_whose_chunks_fail_does_not_appear(store, folder):
    async def failing():
        yield b"x" * 20_000_000
        raise ValueError

    with pytest.raises(ValueError):
        await store.write_chunks("fleet/snapshots/large", failing())
    assert await store.names("fleet/snapshots") == []


async def test_a_file_is_replaced_by_whoever_knows_its_version(store, folder):
    first = await store.replace("fleet/index.json", b"1", None)
    assert (await store.read("fleet/index.json", BYTES_MAX)).version == first
    second = await store.replace("fleet/index.json", b"2", first)
    assert await store.read("fleet/index.json", BYTES_MAX) == (b"2", second)


async def test_an_archive_grows_is_read_and_verified_in_either(store):
    stream = Stream("p0", "p1").grown(30)
    await create(store, stream.logs)
    await create(store, stream.grown(20).logs)
    archive = await Archive.open(store, "fleet")
    assert await all_of(archive) == stream.placed
    assert await all_of(archive, after=17) == stream.placed[17:]
    assert await archive.get(7) == stream.placed[6]
    assert await archive.get(51) is None
    assert await archive.verify() == []
    assert await archived_contexts(store) == ["fleet"]
    assert len([name for name in await store.names("fleet") if name.endswith(".zst")]) == 1, "replaced ones are deleted"
    await record_bottom(store, "fleet", {"p0": 5, "p1": 6})
    assert (await Archive.open(store, "fleet")).first == 5


async def test_a_reader_goes_on_when_a_segment_is_replaced_under_it(store):
    stream = Stream().grown(20)
    await create(store, stream.logs)
    archive = await Archive.open(store, "fleet")
    await create(store, stream.grown(10).logs)
    assert await all_of(archive, after=3) == stream.placed[3:]


async def test_snapshots_lie_beside_the_segments_and_are_verified_too(store):
    stream = Stream("p0", "p1").grown(10)
    await create(store, stream.logs)
    for seq, state in ((3, b"early"), (7, b"late")):
        async with writing(store, "fleet") as opened:
            for _ in range(2):
                await opened.add_snapshot(
                    partition="p0", version="v1", seq=seq, commit=f"fleet-{seq}", saved_at=BEGAN, chunks=each(state)
                )
    archive = await Archive.open(store, "fleet")
    newest, older = archive.snapshots("p0")
    assert (newest.seq, newest.commit, older.seq) == (7, "fleet-7", 3)
    assert archive.snapshots("p1") == []
    assert b"".join([chunk async for chunk in archive.read_snapshot(newest)]) == b"late"
    await create(store, stream.grown(1).logs)
    archive = await Archive.open(store, "fleet")
    assert archive.snapshots() == [newest, older], "a later run keeps them"
    assert await archive.verify() == []
    await store.write(f"fleet/{newest.file}", b"damaged")
    await store.delete(f"fleet/{older.file}")
    assert sorted(damage.path for damage in await archive.verify()) == sorted(
        store.place(f"fleet/{info.file}") for info in (newest, older)
    )


async def test_a_version_that_leads_out_of_the_folder_is_no_version(store):
    await create(store, Stream().grown(1).logs)
    async with writing(store, "fleet") as opened:
        with pytest.raises(ValueError, match="file name"):
            await opened.add_snapshot(
                partition="main", version="../../x", seq=1, commit="c", saved_at=BEGAN, chunks=each(b"")
            )


@pytest.fixture
def shared(bucket):
    return open_store(f"s3://{bucket.name}", bucket.settings)


async def test_of_two_writers_of_a_bucket_the_later_one_wins_and_nothing_of_its_is_deleted(shared):
    stream = Stream().grown(10)
    await create(shared, stream.logs)
    async with writing(shared, "fleet") as early:
        await create(shared, stream.grown(10).logs)
        with pytest.raises(ArchiveBusy):
            await early.record_bottom({"main": 5})
    archive = await Archive.open(shared, "fleet")
    assert archive.first == 1
    assert await all_of(archive) == stream.placed


@pytest.mark.control
async def test_without_the_version_the_earlier_writer_would_undo_the_later_one(shared, monkeypatch):
    async def anyhow(self, name, data, version):
        await self.write(name, data)
        return ""

    stream = Stream().grown(10)
    await create(shared, stream.logs)
    monkeypatch.setattr(S3Archives, "replace", anyhow)
    async with writing(shared, "fleet") as early:
        await create(shared, stream.grown(10).logs)
        await early.record_bottom({"main": 5})
    archive = await Archive.open(shared, "fleet")
    assert archive.last == 10, "the later writer's commits are gone from the index"


async def test_a_replacement_whose_answer_was_lost_counts(shared):
    version = await shared.replace("fleet/index.json", b"1", None)
    landed = await shared.replace("fleet/index.json", b"2", version)
    assert await shared.replace("fleet/index.json", b"2", version) == landed
    with pytest.raises(ArchiveBusy):
        await shared.replace("fleet/index.json", b"3", version)


async def test_a_bucket_that_does_not_exist_is_not_an_empty_archive(bucket_url):
    store = S3Archives("nowhere-at-all", "", endpoint=bucket_url, key_id=KEY_ID, secret=SECRET)
    for asked in (Archive.open(store, "fleet"), create(store, Stream().grown(3).logs), archived_contexts(store)):
        with pytest.raises(ArchiveUnreachable, match="no such bucket"):
            await asked


async def test_a_server_that_is_away_or_silent_is_said_in_time():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        store = S3Archives("bucket", "", endpoint=url, key_id="k", secret="s", request_s=0.2, retries_max=1)
        with pytest.raises(ArchiveUnreachable, match="DROVER_ARCHIVE_S3_ENDPOINT"):
            await Archive.open(store, "fleet")
    with pytest.raises(ArchiveUnreachable):
        await Archive.open(store, "fleet")


def test_a_plain_path_is_a_folder(tmp_path):
    assert isinstance(open_store(str(tmp_path)), FolderStore)
    assert open_store("s3://bucket/a/b/", {}).place("fleet") == "s3://bucket/a/b/fleet"
