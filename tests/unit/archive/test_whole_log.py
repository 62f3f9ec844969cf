"""One log over archive and stream: readers get every commit once and in order, wherever it is."""

import asyncio
from contextlib import aclosing, suppress
from functools import partial

import pytest

from drover.archive import archive as archives
from drover.archive import index as indices
from drover.archive import segment as segments
from drover.archive import whole_log
from drover.archive import writing as writings
from drover.archive.archive import Archive
from drover.archive.creating import create
from drover.archive.errors import ArchiveUnreachable, FileDamaged, ForeignArchive
from drover.archive.folder_store import FolderStore
from drover.archive.whole_log import NotArchived, WholeLog
from drover.archive.writing import writing
from drover.cli.seek import first_commit
from drover.eventlog.follow import last_before
from drover.eventlog.log import ALL, BelowBottom, LastCommitMissing, LogUnreachable

from .conftest import Stream, StreamLog

pytestmark = pytest.mark.req("YR-02")

NAMES = ("p0", "p1", "p2")


@pytest.fixture(autouse=True, params=[500, 2], ids=["one index", "volumes"])
def small_segments(monkeypatch, request):
    monkeypatch.setattr(writings, "VOLUME_SEGMENTS", request.param)
    for module in (indices, segments):
        monkeypatch.setattr(module, "SEGMENT_TEXT_BYTES", 2_000)
    monkeypatch.setattr(whole_log, "READ_COMMITS_MAX", 5)


@pytest.fixture
def stream():
    return Stream(*NAMES).grown(60)


def whole(tmp_path, stream, name=ALL):
    return WholeLog(StreamLog(stream, name), partial(Archive.open, FolderStore(tmp_path), stream.context))


def seqs(stream, name, after=0):
    return [one.commit.seq for one in stream.placed if name in (ALL, one.partition) and one.commit.seq > after]


async def read(log, after, upto):
    found = []
    async with log.read(after) as reader:
        while not found or found[-1] < upto:
            batch = await asyncio.wait_for(reader.next(), 5)
            found += [commit.seq for commit in batch]
    return found


@pytest.mark.parametrize("name", [ALL, *NAMES])
async def test_every_position_is_read_as_if_nothing_had_left_the_stream(tmp_path, stream, name):
    await create(FolderStore(tmp_path), stream.logs, up_to=50)
    stream.purge(50, "p0")
    stream.purge(32, "p1")  # p2 keeps all
    log = whole(tmp_path, stream, name)
    for after in range(58):
        expected = seqs(stream, name, after)
        assert await read(log, after, expected[-1]) == expected


async def test_commits_from_the_archive_are_what_they_were(tmp_path, stream):
    await create(FolderStore(tmp_path), stream.logs)
    stream.purge(58)
    found = []
    async with whole(tmp_path, stream).read(0) as reader:
        while len(found) < 60:
            found += await reader.next()
    assert found == [placed.commit for placed in stream.placed]
    log = whole(tmp_path, stream, "p1")
    assert [await log.get(seq) for seq in range(1, 61)] == found
    assert await log.get(61) is None


async def test_a_reader_knows_that_it_is_not_at_the_end_yet(tmp_path, stream):
    """A projection waits for more commits before it writes a batch, as long as there are more."""
    await create(FolderStore(tmp_path), stream.logs)
    stream.purge(58)
    seen, last = {}, seqs(stream, "p0")[-1]
    async with whole(tmp_path, stream, "p0").read(0) as reader:
        while last not in seen:
            batch = await reader.next()
            seen[batch[-1].seq] = reader.behind
    assert all(behind > 0 for seq, behind in seen.items() if seq < last)
    assert seen[last] == 0


async def test_a_purge_under_a_reader_is_followed_into_the_archive(tmp_path, stream):
    await create(FolderStore(tmp_path), stream.logs, up_to=20)
    stream.purge(15)
    found = []
    async with whole(tmp_path, stream).read(0) as reader:
        while len(found) < 25:
            found += await reader.next()
        await create(FolderStore(tmp_path), stream.logs, up_to=57)
        stream.purge(55)
        while len(found) < 60:
            found += await reader.next()
    assert [commit.seq for commit in found] == seqs(stream, ALL)


async def test_a_last_segment_that_is_replaced_while_it_is_read_loses_nothing(tmp_path, stream):
    await create(FolderStore(tmp_path), stream.logs, up_to=41)
    stream.purge(41)
    found = []
    async with whole(tmp_path, stream).read(0) as reader:
        found += await reader.next()
        await create(FolderStore(tmp_path), stream.logs, up_to=42)  # replaces the last segment and removes its old file
        while len(found) < 60:
            found += await reader.next()
    assert [commit.seq for commit in found] == seqs(stream, ALL)


async def test_a_cancelled_read_loses_nothing(tmp_path, stream, monkeypatch):
    await create(FolderStore(tmp_path), stream.logs)
    stream.purge(58)
    gate = asyncio.Event()
    real = archives.load_segment

    async def slow(*which):
        await gate.wait()
        gate.clear()
        return await real(*which)

    monkeypatch.setattr(archives, "load_segment", slow)
    found = []
    async with whole(tmp_path, stream, "p1").read(0) as reader:
        while not found or found[-1] < seqs(stream, "p1")[-1]:
            waiting = asyncio.create_task(reader.next())
            await asyncio.wait((waiting,), timeout=0.02)
            if waiting.done():
                found += [commit.seq for commit in await waiting]
                continue
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            gate.set()
    assert found == seqs(stream, "p1")


async def test_a_reader_that_is_closed_early_leaves_nothing_running(tmp_path, stream):
    """It reads the archive with a thread."""
    await create(FolderStore(tmp_path), stream.logs)
    stream.purge(58)
    closed = []

    async def watched():
        archive = await Archive.open(FolderStore(tmp_path), "fleet")
        real = archive.commits

        async def commits(after):
            try:
                async with aclosing(real(after)) as found:
                    async for placed in found:
                        yield placed
            finally:
                closed.append(after)

        archive.commits = commits
        return archive

    async with WholeLog(StreamLog(stream, ALL), watched).read(3) as reader:
        await reader.next()
        assert closed == []
        kept = reader._archived  # so that the garbage collector does not close it
    assert closed == [3], kept


@pytest.mark.req("YR-03")
async def test_a_damaged_segment_is_named_and_stops_only_what_needs_it(tmp_path, stream):
    await create(FolderStore(tmp_path), stream.logs)
    stream.purge(58)
    second = await (await Archive.open(FolderStore(tmp_path), "fleet")).segment_at(1)
    (tmp_path / "fleet" / second.file).write_bytes(b"?")
    log = whole(tmp_path, stream)
    with pytest.raises(FileDamaged, match=second.file):
        await read(log, 0, 60)
    assert await read(log, second.last, 60) == seqs(stream, ALL, second.last)
    assert (await log.get(second.first - 1)).seq == second.first - 1


class Flaky(FolderStore):
    """A store that does not answer now and then."""

    def __init__(self, directory):
        super().__init__(directory)
        self.is_away = False

    async def read(self, name, bytes_max):
        if self.is_away:
            raise ArchiveUnreachable(name, "no answer")
        return await super().read(name, bytes_max)


@pytest.mark.req("YR-03")
async def test_an_archive_that_is_away_is_a_log_that_is_away_and_a_reader_goes_on_later(tmp_path, stream):
    store = Flaky(tmp_path)
    await create(store, stream.logs)
    stream.purge(58)
    log, found = WholeLog(StreamLog(stream, ALL), partial(Archive.open, store, "fleet")), []
    async with log.read(0) as reader:
        while len(found) < 60:
            store.is_away = not store.is_away
            with suppress(LogUnreachable):
                found += await reader.next()
    assert [commit.seq for commit in found] == seqs(stream, ALL)
    store.is_away = True
    with pytest.raises(LogUnreachable, match=r"no answer.*DROVER_ARCHIVE"):
        await WholeLog(StreamLog(stream, ALL), partial(Archive.open, store, "fleet")).get(3)


async def test_without_an_archive_the_missing_commits_are_named(tmp_path, stream):
    stream.purge(30)
    log = whole(tmp_path, stream)
    with pytest.raises(NotArchived, match="DROVER_ARCHIVE"):
        await read(log, 3, 60)
    with pytest.raises(BelowBottom):
        await log.get(29)
    assert await read(log, 29, 60) == seqs(stream, ALL, 29)


async def test_an_archive_that_ends_before_the_stream_begins_is_not_skipped_over(tmp_path, stream):
    """Somebody has brought back an old copy of the archive."""
    await create(FolderStore(tmp_path), stream.logs, up_to=20)
    stream.purge(40)
    with pytest.raises(NotArchived):
        await read(whole(tmp_path, stream), 0, 60)


async def test_an_archive_of_another_history_is_refused(tmp_path, stream):
    await create(
        FolderStore(tmp_path), Stream(*NAMES, context="fleet").grown(40).commit(partition="p1", id="another").logs
    )
    stream.purge(30)
    with pytest.raises(ForeignArchive):
        await read(whole(tmp_path, stream), 0, 60)


async def test_a_gap_in_the_archive_is_not_skipped_over(tmp_path, stream):
    """An index that was edited by hand is refused when it is opened; this one has lost commits in memory."""
    await create(FolderStore(tmp_path), stream.logs)
    stream.purge(58)

    async def with_a_gap():
        archive = await Archive.open(FolderStore(tmp_path), "fleet")
        real = archive.commits

        async def commits(after):
            async for placed in real(after):
                if placed.commit.seq != 33:
                    yield placed

        archive.commits = commits
        return archive

    with pytest.raises(NotArchived, match="gap"):
        await read(WholeLog(StreamLog(stream, ALL), with_a_gap), 0, 60)


@pytest.mark.req("YR-01")
@pytest.mark.parametrize("name", [ALL, "p0"])
async def test_a_partition_that_has_only_an_archive_has_no_end(tmp_path, stream, name):
    await create(FolderStore(tmp_path), stream.logs)
    stream.purge(100)
    with pytest.raises(LastCommitMissing, match="drover archive restore"):
        await whole(tmp_path, stream, name).last()


async def test_a_new_partition_without_an_archive_is_empty(tmp_path):
    assert await whole(tmp_path, Stream(), "main").last() is None


async def test_a_position_by_time_is_found_below_the_bottom(tmp_path, stream):
    await create(FolderStore(tmp_path), stream.logs)
    stream.purge(58)
    moment = stream.placed[16].commit.stored_at
    assert await last_before(whole(tmp_path, stream, "p0"), moment, 60) == 16


async def test_an_empty_index_is_an_archive_without_commits(tmp_path):
    async with writing(FolderStore(tmp_path), "fleet", ["main"]):
        pass
    archive = await Archive.open(FolderStore(tmp_path), "fleet")
    assert (archive.last, list(archive.partitions)) == (0, [])


@pytest.mark.parametrize("name", [ALL, *NAMES])
async def test_a_search_below_the_bottom_reads_few_segments(tmp_path, monkeypatch, name):
    loads = []
    load = archives.load_segment

    async def counted(store, context, segment):
        loads.append(segment.file)
        return await load(store, context, segment)

    for module in (indices, segments):
        monkeypatch.setattr(module, "SEGMENT_TEXT_BYTES", 20_000)
    stream = Stream(*NAMES).grown(400)
    await create(FolderStore(tmp_path), stream.logs)
    stream.purge(395)
    expected = next(seq for seq in seqs(stream, name) if seq >= 100)
    log = whole(tmp_path, stream, name)
    monkeypatch.setattr(archives, "load_segment", counted)
    found = await first_commit(log, lambda commit: commit.seq >= 100)
    assert found == await log.get(expected)
    assert 1 <= len(loads) <= 4, "nine questions, of which several are about one segment in a row"
