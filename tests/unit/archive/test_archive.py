"""Archives: whole after whatever happened while they were written, and damage in them is found."""

import os
from datetime import timedelta

import msgspec
import pytest

from drover.archive import index as indices
from drover.archive import segment as segments
from drover.archive import writing as writings
from drover.archive.archive import Archive, archived_contexts
from drover.archive.creating import create
from drover.archive.errors import (
    ArchiveBusy,
    ArchiveIncomplete,
    ArchiveMissing,
    ArchiveUnwritable,
    ChainBroken,
    FileDamaged,
    ForeignArchive,
)
from drover.archive.folder_store import FolderStore
from drover.archive.log import ArchiveLog
from drover.archive.text import Placed
from drover.archive.writing import record_bottom, writing
from drover.cli.seek import commits_between, first_commit
from drover.eventlog.log import BelowBottom, Partition

from .conftest import BEGAN, Stream, StreamLog, all_of

pytestmark = pytest.mark.req("EV-06")


@pytest.fixture(params=[500, 2], ids=["one index", "volumes"])
def small_segments(monkeypatch, request):
    monkeypatch.setattr(writings, "VOLUME_SEGMENTS", request.param)
    for module in (indices, segments):
        monkeypatch.setattr(module, "SEGMENT_TEXT_BYTES", 2_000)


async def segments_of(directory):
    return [segment async for segment in (await opened(directory)).segments()]


async def in_form_1(directory, *, lasts=True):
    """Make the index what it was before there were volumes."""
    archive = await opened(directory)
    found = await segments_of(directory)
    if not lasts:
        found = [msgspec.structs.replace(one, lasts={}) for one in found]
    index = msgspec.structs.replace(archive.index, segments=found, volumes=[], form=1)
    (directory / "fleet" / "index.json").write_bytes(msgspec.json.encode(index))
    for path in (directory / "fleet").glob("index-*.json"):
        path.unlink()


async def without_lasts(directory):
    """Open an archive whose index does not know the last commits of the segments, in its form of today."""
    await in_form_1(directory, lasts=False)
    async with writing(FolderStore(directory), "fleet") as archive:
        await archive.save()
    return await opened(directory)


async def opened(directory, context="fleet"):
    return await Archive.open(FolderStore(directory), context)


def files(tmp_path, context="fleet"):
    return sorted(file.name for file in (tmp_path / context).iterdir() if not file.name.startswith(("index", "lock")))


async def has_listed_volumes_only(directory):
    listed = [volume.file for volume in (await opened(directory)).index.volumes]
    return listed == sorted(path.name for path in (directory / "fleet").glob("index-*"))


async def test_an_archive_holds_every_commit_as_it_was(tmp_path, small_segments):
    stream = Stream("p0", "p1", "p2").grown(50)
    made = await create(FolderStore(tmp_path), stream.logs)
    assert (made.last, made.commits, made.log_last) == (50, 50, 50)
    assert made.segments > 3
    archive = await opened(tmp_path)
    assert await all_of(archive) == stream.placed
    assert await all_of(archive, after=17) == stream.placed[17:]
    assert await archive.verify() == []
    assert await archived_contexts(FolderStore(tmp_path)) == ["fleet"]


async def test_only_its_owner_may_read_it(tmp_path, stream):
    await create(FolderStore(tmp_path / "new"), stream.logs)
    for path in (tmp_path / "new").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0


async def test_it_goes_on_where_it_ended_and_keeps_few_files(tmp_path, small_segments):
    stream = Stream("p0", "p1")
    for _ in range(25):
        stream.grown(2)
        made = await create(FolderStore(tmp_path), stream.logs)
        assert made.commits == 2
        assert await all_of(await opened(tmp_path)) == stream.placed
    assert (await create(FolderStore(tmp_path), stream.logs)).commits == 0, "nothing is new"
    assert len(files(tmp_path)) == made.segments < 25, "a segment that has room is written anew"
    full = [s.file for s in await segments_of(tmp_path) if s.is_full]
    stream.grown(2)
    await create(FolderStore(tmp_path), stream.logs)
    assert full == [s.file for s in await segments_of(tmp_path)][: len(full)], "a full one is not"


async def test_it_may_end_at_a_position_or_at_a_moment(tmp_path, stream):
    assert (await create(FolderStore(tmp_path), stream.logs, up_to=7)).last == 7
    assert (await create(FolderStore(tmp_path), stream.logs, before=BEGAN + timedelta(minutes=12))).last == 11
    assert (await create(FolderStore(tmp_path), stream.logs, up_to=3)).last == 11, "nothing is taken away"
    assert await all_of(await opened(tmp_path)) == stream.placed[:11]


async def test_an_empty_log_makes_an_empty_archive_that_grows_later(tmp_path, stream):
    assert (await create(FolderStore(tmp_path), Stream().logs)).segments == 0
    assert await all_of(await opened(tmp_path)) == []
    await create(FolderStore(tmp_path), stream.logs)
    assert await all_of(await opened(tmp_path)) == stream.placed


async def test_where_there_is_no_archive_it_is_said(tmp_path):
    for look in (opened(tmp_path), archived_contexts(FolderStore(tmp_path / "nowhere"))):
        with pytest.raises(ArchiveMissing, match="drover archive create"):
            await look
    (tmp_path / "fleet").mkdir()
    with pytest.raises(ArchiveMissing):
        await archived_contexts(FolderStore(tmp_path))


class Crash(Exception):
    pass


async def test_whenever_it_is_interrupted_what_is_there_is_whole(tmp_path, small_segments, monkeypatch):
    """Every write, sync and rename on the way is one at which the process may end."""
    stream = Stream("p0", "p1").grown(30)
    steps = 0
    survived = 0
    while True:
        left = steps

        def tick(real):
            def call(*args, **kwargs):
                nonlocal left
                if left == 0:
                    raise Crash
                left -= 1
                return real(*args, **kwargs)

            return call

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", tick(os.fsync))
            patch.setattr("pathlib.Path.replace", tick(__import__("pathlib").Path.replace))
            patch.setattr("pathlib.Path.unlink", lambda self, missing_ok=False: None)  # a killed process cleans nothing
            try:
                await create(FolderStore(tmp_path), stream.logs)
                break
            except Crash:
                survived += 1
        if (tmp_path / "fleet" / "index.json").exists():
            archive = await opened(tmp_path)
            assert await archive.verify() == []
            assert await all_of(archive) == stream.placed[: archive.index.last]
        steps += 1
    assert survived > 10
    assert await all_of(await opened(tmp_path)) == stream.placed
    await create(FolderStore(tmp_path), stream.grown(1).logs)
    listed = [segment.file for segment in await segments_of(tmp_path)]
    assert files(tmp_path) == sorted(listed), "what the crashes left is swept"
    assert await has_listed_volumes_only(tmp_path)


async def test_a_disk_without_room_is_said_and_costs_nothing(tmp_path, stream, monkeypatch):
    await create(FolderStore(tmp_path), stream.logs)

    def no_room(descriptor):
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_room)
        with pytest.raises(ArchiveUnwritable, match="No space left on device"):
            await create(FolderStore(tmp_path), stream.grown(5).logs)
    assert await all_of(await opened(tmp_path)) == stream.placed[:20]
    assert len(files(tmp_path)) == 1
    await create(FolderStore(tmp_path), stream.logs)
    assert await all_of(await opened(tmp_path)) == stream.placed


def spoil(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda path: spoil(path, 40), "checksum"),
        (lambda path: spoil(path, -1), "checksum"),
        (lambda path: path.write_bytes(path.read_bytes()[:-10]), "bytes instead of"),
        (lambda path: path.unlink(), "missing"),
        (lambda path: path.write_bytes(b""), "0 bytes instead of"),
    ],
)
async def test_damage_is_found_and_named_and_never_read_over(tmp_path, small_segments, damage, says):
    stream = Stream().grown(40)
    await create(FolderStore(tmp_path), stream.logs)
    archive = await opened(tmp_path)
    second = await archive.segment_at(1)
    damage(tmp_path / "fleet" / second.file)
    (found,) = await archive.verify()
    assert found.path.endswith(second.file)
    assert says in found.reason
    commits = archive.commits()
    assert [await anext(commits) for _ in range(second.first - 1)] == stream.placed[: second.first - 1]
    with pytest.raises(FileDamaged, match=says):
        await anext(commits)
    assert await all_of(archive, after=second.last) == stream.placed[second.last :], "a reader behind it works"


async def test_a_segment_in_the_place_of_another_is_found_though_its_checksum_is_right(tmp_path, stream):
    await create(FolderStore(tmp_path / "one"), stream.logs)
    await create(FolderStore(tmp_path / "two"), Stream(context="render").grown(20).logs)
    render = await opened(tmp_path / "two", "render")
    (segment,) = render.index.segments
    fleet = await opened(tmp_path / "one")
    (tmp_path / "one/fleet" / segment.file).write_bytes((tmp_path / "two/render" / segment.file).read_bytes())
    fleet.index.segments = [segment]
    with pytest.raises(FileDamaged, match="it belongs to render"):
        await all_of(fleet)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"first": 2}, "does not follow"),
        ({"file": "../../etc/passwd"}, "not the name of a segment"),
        ({"ordinals": {"main": (2, 39)}}, "missing before"),
        ({"ordinals": {"other": (1, 39)}}, "missing before"),
    ],
)
async def test_an_index_that_leaves_something_out_is_not_believed(tmp_path, stream, change, says):
    await create(FolderStore(tmp_path), stream.logs)
    index = (await opened(tmp_path)).index
    index.segments = [msgspec.structs.replace(index.segments[0], **change)]
    (tmp_path / "fleet/index.json").write_bytes(msgspec.json.encode(index))
    with pytest.raises(FileDamaged, match=says):
        await opened(tmp_path)


async def test_an_index_that_is_gone_or_broken_is_said_and_nothing_is_thrown_away(tmp_path, stream):
    await create(FolderStore(tmp_path), stream.logs)
    path = tmp_path / "fleet/index.json"
    whole, had = path.read_bytes(), files(tmp_path)
    path.write_bytes(whole[:40])
    with pytest.raises(FileDamaged, match="malformed"):
        await create(FolderStore(tmp_path), stream.logs)
    path.unlink()
    with pytest.raises(FileDamaged, match="it is missing"):
        await create(FolderStore(tmp_path), stream.logs)
    assert files(tmp_path) == had


async def test_an_archive_is_of_one_history(tmp_path, stream):
    await create(FolderStore(tmp_path), stream.logs)
    other = Stream().grown(19).commit("another", id="of another writer").grown(5)
    with pytest.raises(ForeignArchive, match="another commit there"):
        await create(FolderStore(tmp_path), other.logs)
    with pytest.raises(ForeignArchive, match="ends before that"):
        await create(FolderStore(tmp_path), Stream().grown(7).logs)
    with pytest.raises(ForeignArchive, match="partitions"):
        await create(FolderStore(tmp_path), Stream("p0", "p1").grown(30).logs)
    assert await all_of(await opened(tmp_path)) == stream.placed


async def test_a_log_with_a_gap_is_not_archived_over_it(tmp_path, stream):
    first, second = stream.placed[10], stream.placed[11]
    gap = first.commit.payload.replace(b'"n":', b'"n":1')
    stream.placed[10] = Placed("main", msgspec.structs.replace(first.commit, payload=gap))
    with pytest.raises(ChainBroken, match=f"Commit {second.commit.seq - 1}"):
        await create(FolderStore(tmp_path), stream.logs)
    assert files(tmp_path) == []


async def test_what_comes_while_it_looks_where_the_log_ends_is_left_for_the_next_time(tmp_path):
    """Partitions are asked one after the other, and writers do not wait for that."""
    stream = Stream("p0", "p1", "p2").grown(9)

    class Busy(StreamLog):
        async def last(self):
            found = await super().last()
            stream.grown(4)
            return found

    made = await create(FolderStore(tmp_path), [Busy(stream, name) for name in stream.partitions])
    assert made.last == 9
    assert await all_of(await opened(tmp_path)) == stream.placed[:9]
    await create(FolderStore(tmp_path), stream.logs)
    assert await all_of(await opened(tmp_path)) == stream.placed


async def test_two_do_not_write_the_same_archive(tmp_path, stream):
    async with writing(FolderStore(tmp_path), "fleet", ["main"]):
        with pytest.raises(ArchiveBusy):
            await create(FolderStore(tmp_path), stream.logs)
    await create(FolderStore(tmp_path), stream.logs)


async def test_what_an_older_index_does_not_know_of_is_not_swept_while_the_log_has_it_not(
    tmp_path, stream, small_segments
):
    await create(FolderStore(tmp_path), stream.logs)
    older = (tmp_path / "fleet" / "index.json").read_bytes()
    await create(FolderStore(tmp_path), stream.grown(30).logs)
    had = files(tmp_path)
    (tmp_path / "fleet" / "index.json").write_bytes(older)
    for lost in (Stream(), Stream().grown(20)):  # the log is gone, or was restored by that index
        with pytest.raises(ForeignArchive):
            await create(FolderStore(tmp_path), lost.logs)
        assert files(tmp_path) == had


async def test_a_file_that_an_older_index_does_not_know_of_stays_if_the_log_lacks_its_commits(
    tmp_path, small_segments, monkeypatch
):
    """The log has the end of the older index, in an idle partition, but not the commits of the other one after it."""
    monkeypatch.setattr(writings, "VOLUME_SEGMENTS", 2)
    stream = Stream("p0", "p1").commit("x" * 2_000, partition="p1")  # fills a segment
    await create(FolderStore(tmp_path), stream.logs)
    index = tmp_path / "fleet" / "index.json"
    older = index.read_bytes()
    for _ in range(30):
        stream.commit(partition="p0")
    await create(FolderStore(tmp_path), stream.logs)
    newer, kept = index.read_bytes(), files(tmp_path)
    stream.purge(30, "p0")
    index.write_bytes(older)
    with pytest.raises(BelowBottom):
        await create(FolderStore(tmp_path), stream.logs)
    assert {*kept} <= {*files(tmp_path)}
    index.write_bytes(newer)
    assert await (await opened(tmp_path)).verify() == []


async def test_whatever_looks_into_a_log_can_look_into_an_archive(tmp_path, small_segments):
    stream = Stream("p0", "p1").grown(60)
    await create(FolderStore(tmp_path), stream.logs)
    archive = await opened(tmp_path)
    whole, part = ArchiveLog(archive, Partition("fleet", "*")), ArchiveLog(archive, Partition("fleet", "p1"))
    commits = [placed.commit for placed in stream.placed]
    ours = [placed.commit for placed in stream.placed if placed.partition == "p1"]
    assert await whole.last() == commits[-1]
    assert await part.last() == ours[-1]
    assert await whole.get(7) == commits[6]
    assert await whole.get(61) is None
    assert await whole.get(0) is None
    assert [commit async for commit in commits_between(whole, 10, 60)] == commits[10:]
    assert [commit async for commit in commits_between(part, 0, 60)] == ours
    assert await first_commit(whole, lambda commit: commit.seq >= 33) == commits[32]
    assert await first_commit(part, lambda commit: commit.seq >= 33) == ours[16]
    with pytest.raises(ArchiveMissing, match="no partition p7"):
        ArchiveLog(archive, Partition("fleet", "p7"))


@pytest.mark.req("YR-11")
@pytest.mark.parametrize("known", [True, False], ids=["this index", "an index of before"])
async def test_it_knows_the_last_commit_of_each_partition_at_any_position(tmp_path, small_segments, known):
    stream = Stream("p0", "p1", "p2")
    stream.commit(partition="p2").grown(40).commit(partition="p0")
    await create(FolderStore(tmp_path), stream.logs)
    archive = await opened(tmp_path)
    assert archive.index.count > 2
    if not known:
        archive = await without_lasts(tmp_path)
    for seq in range(43):
        before = {placed.partition: placed.commit.seq for placed in stream.placed[:seq]}
        assert await archive.previous(seq) == before


@pytest.mark.req("YR-11")
async def test_the_bottom_of_the_log_is_recorded_and_only_if_all_below_it_is_archived(tmp_path):
    stream = Stream("p0", "p1").grown(20)
    with pytest.raises(ArchiveMissing):
        await record_bottom(FolderStore(tmp_path), "fleet", {"p0": 3})
    await create(FolderStore(tmp_path), stream.logs)
    assert (await opened(tmp_path)).first == 1
    await record_bottom(FolderStore(tmp_path), "fleet", {"p0": 9})
    assert (await opened(tmp_path)).first == 1, "the other partition is still whole"
    await record_bottom(FolderStore(tmp_path), "fleet", {"p1": 6})
    assert (await opened(tmp_path)).first == 6
    with pytest.raises(ArchiveIncomplete, match="ends at commit 20"):
        await record_bottom(FolderStore(tmp_path), "fleet", {"p0": 22})
    await create(FolderStore(tmp_path), stream.grown(3).logs)
    assert (await opened(tmp_path)).index.bottom == {"p0": 9, "p1": 6}


@pytest.fixture
def volumes(monkeypatch):
    """Small segments, and two of them in each volume."""
    monkeypatch.setattr(writings, "VOLUME_SEGMENTS", 2)
    for module in (indices, segments):
        monkeypatch.setattr(module, "SEGMENT_TEXT_BYTES", 2_000)


@pytest.mark.req("YR-03")
async def test_the_index_stays_small_because_full_segments_move_into_volumes(tmp_path, volumes):
    stream = Stream("p0", "p1")
    for _ in range(20):
        await create(FolderStore(tmp_path), stream.grown(10).logs)
        index = (await opened(tmp_path)).index
        assert 1 <= len(index.segments) <= 2
    assert len(index.volumes) > 5
    assert await has_listed_volumes_only(tmp_path)
    assert (index.commits, index.last) == (200, 200)
    assert index.events == sum(placed.commit.payload.count(b"\n") for placed in stream.placed)
    assert index.count == len(files(tmp_path))


@pytest.mark.req("YR-03")
async def test_opening_an_archive_and_reading_its_end_reads_no_volume(tmp_path, volumes):
    stream = Stream("p0", "p1").grown(100)
    await create(FolderStore(tmp_path), stream.logs)
    for path in tmp_path.glob("fleet/index-*"):
        path.write_bytes(b"damaged")
    archive = await opened(tmp_path)
    assert archive.last == 100
    assert await archive.get(100) == stream.placed[99]
    assert await ArchiveLog(archive, Partition("fleet", "*")).last() == stream.placed[99].commit
    assert (await create(FolderStore(tmp_path), stream.grown(5).logs)).last == 105


@pytest.mark.req("YR-03")
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-9])])
async def test_a_damaged_volume_is_named_once_and_stops_only_what_needs_it(tmp_path, volumes, damage):
    stream = Stream().grown(100)
    await create(FolderStore(tmp_path), stream.logs)
    archive = await opened(tmp_path)
    second = archive.index.volumes[1]
    damage(tmp_path / "fleet" / second.file)
    (found,) = await archive.verify()
    assert found.path.endswith(second.file)
    with pytest.raises(FileDamaged, match=second.file):
        await archive.get(second.first)
    assert await archive.get(second.first - 1) == stream.placed[second.first - 2]
    assert await all_of(archive, after=second.last) == stream.placed[second.last :]


@pytest.mark.req("YR-03")
async def test_an_archive_of_before_is_read_and_gets_volumes_when_it_is_next_written(tmp_path, volumes):
    stream = Stream("p0", "p1").grown(100)
    await create(FolderStore(tmp_path), stream.logs)
    await in_form_1(tmp_path)
    archive = await opened(tmp_path)
    assert (archive.index.volumes, archive.index.count) == ([], len(files(tmp_path)))
    assert await all_of(archive) == stream.placed
    await create(FolderStore(tmp_path), stream.grown(1).logs)
    archive = await opened(tmp_path)
    assert (archive.index.form, len(archive.index.segments) <= 2) == (2, True)
    assert await archive.verify() == []
    assert await all_of(archive) == stream.placed


@pytest.mark.req("YR-03")
async def test_an_index_from_which_a_volume_was_left_out_is_not_believed(tmp_path, volumes):
    await create(FolderStore(tmp_path), Stream().grown(100).logs)
    index = (await opened(tmp_path)).index
    (tmp_path / "fleet/index.json").write_bytes(
        msgspec.json.encode(msgspec.structs.replace(index, volumes=index.volumes[:1] + index.volumes[2:]))
    )
    with pytest.raises(FileDamaged, match="does not follow"):
        await opened(tmp_path)
