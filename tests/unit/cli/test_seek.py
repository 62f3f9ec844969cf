"""Finding a place in the log without reading it from its start."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from drover.cli import seek
from drover.cli.errors import DamagedCommit, EventNotFound
from drover.cli.events import find_event, show_tail
from drover.cli.record import last_of, records
from drover.cli.seek import commits_between, first_commit, last_records
from drover.cli.wanted import Wanted
from drover.eventlog.log import Commit, LogUnreachable, Partition, StoredCommit

from .conftest import BEGAN, CODEC, online, registered, write


class SparseLog:
    """A partition that shares its stream: only some sequences are its own."""

    def __init__(self, seqs):
        self.partition = Partition("fleet")
        self._commits = [
            StoredCommit(seq, f"id{seq}", 1, BEGAN, CODEC.encode([online(2 * i + 1), online(2 * i + 2)]))
            for i, seq in enumerate(seqs)
        ]
        self.reads = 0

    async def last(self):
        return self._commits[-1] if self._commits else None

    @asynccontextmanager
    async def read(self, after):
        self.reads += 1
        yield SparseReader([commit for commit in self._commits if commit.seq > after])


class SparseReader:
    def __init__(self, commits):
        self._commits = commits

    async def next(self):
        assert self._commits, "nobody may wait for what is not there"
        batch, self._commits = self._commits[:2], self._commits[2:]
        return batch


@pytest.mark.parametrize("seqs", [[1], [7], [1, 2, 3], [3, 4, 9, 50, 51, 1000], list(range(5, 400, 7))])
async def test_every_event_is_found_by_its_ordinal_whatever_gaps_the_sequences_have(seqs):
    log = SparseLog(seqs)
    for n in range(1, 2 * len(seqs) + 1):
        commit, record = await find_event(log, n)
        assert record.envelope.n == n
        assert commit.seq == record.seq == seqs[(n - 1) // 2]


async def test_a_search_reads_a_number_of_commits_that_grows_with_the_logarithm():
    log = SparseLog(range(1, 5000))
    await find_event(log, 7777)
    assert log.reads <= 14


@pytest.mark.parametrize("reference", [(4, 1), (9, 0)])
async def test_an_event_is_found_by_sequence_and_line(reference):
    _, record = await find_event(SparseLog([3, 4, 9]), reference)
    assert (record.seq, record.line) == reference


@pytest.mark.parametrize("reference", [7, 10**17, (5, 0), (4, 2), (99, 0)])
async def test_what_the_log_does_not_have_is_not_found_and_the_error_says_what_it_has(reference):
    with pytest.raises(EventNotFound, match="events 1 to 6") as caught:
        await find_event(SparseLog([3, 4, 9]), reference)
    assert caught.value.last_n == 6


@pytest.mark.parametrize("reference", [1, (1, 0)])
async def test_nothing_is_found_in_an_empty_log(log, reference):
    with pytest.raises(EventNotFound, match="no events yet"):
        await find_event(log, reference)


async def test_the_last_events_are_read_from_the_end_and_not_from_the_start(log):
    end = await write(log, *([online(n)] for n in range(1, 3001)))
    found = await last_records(log, end, 20, Wanted())
    assert [record.envelope.n for record in found] == list(range(2981, 3001))
    assert log.handed_out <= seek.WINDOW_MIN


async def test_the_last_events_of_a_rare_kind_are_found_however_far_back_they_are(log):
    end = await write(log, [registered(1)], *([online(n)] for n in range(2, 1000)), [registered(1000)])
    found = await last_records(log, end, 5, Wanted(types=("DeviceRegistered",)))
    assert [record.envelope.n for record in found] == [1, 1000]
    # Nothing is read twice: each window ends where the one before it began.
    assert log.handed_out <= 1000 + 256 * log.reads


@pytest.mark.parametrize("count", [0, 1, 3, 4, 9])
async def test_as_many_of_the_last_as_were_asked_for_in_order(log, count):
    end = await write(log, [online(1), online(2)], [online(3), online(4)])
    found = await last_records(log, end, count, Wanted())
    assert [record.envelope.n for record in found] == [1, 2, 3, 4][max(0, 4 - count) :]


async def test_windows_over_a_partition_with_gaps_neither_wait_nor_miss():
    seqs = [1, 2, 700, 5000, 5001, 9000]
    log = SparseLog(seqs)
    assert [record.envelope.n for record in await last_records(log, 9000, 100, Wanted())] == list(range(1, 13))
    assert [commit.seq async for commit in commits_between(log, 2, 4999)] == [700]
    assert [commit.seq async for commit in commits_between(log, 9000, 9000)] == []


async def test_the_first_commit_since_a_moment_is_found(log):
    await write(log, *([online(n)] for n in range(1, 101)))
    moment = BEGAN + timedelta(seconds=41.5)
    assert (await first_commit(log, lambda commit: last_of(commit).envelope.at >= moment)).seq == 42
    assert await first_commit(log, lambda commit: False) is None


async def test_a_server_that_falls_silent_is_an_error_and_not_a_wait_for_ever(log, monkeypatch):
    monkeypatch.setattr(seek, "READ_S", 0.01)
    with pytest.raises(LogUnreachable):
        await seek.commit_from(log, 1)


@pytest.mark.parametrize("payload", [b"nonsense\n", b'{"type":"X"}\n', b"", b'{"type":"\xff"}\n'])
async def test_a_damaged_commit_is_named_with_its_place(log, payload):
    await log.append(Commit("id", 1, payload), 0)
    with pytest.raises(DamagedCommit) as caught:
        await find_event(log, 1)
    assert (caught.value.seq, caught.value.line) == (1, 0)


async def test_an_event_of_a_type_that_this_program_does_not_know_is_shown_all_the_same(log):
    line = b'{"type":"NotBornYet","n":1,"at":"2026-01-31T08:00:00Z","by":"x","cause":"","deep":{"er":[1]}}'
    await log.append(Commit("id", 1, line + b"\n"), 0)
    (record,) = records(await log.last())
    assert (record.envelope.type, record.own, record.raw) == ("NotBornYet", {"deep": {"er": [1]}}, line)


async def tailed(log, wanted, last=20):
    """What a tail that does not follow shows."""
    shown = []
    await show_tail(log, wanted, last, False, lambda found: shown.extend(record.envelope.n for record in found))
    return shown


@pytest.mark.parametrize(
    ("wanted", "last", "shown"),
    [
        (Wanted(), 3, [4, 5, 6]),
        (Wanted(), 0, []),
        (Wanted(from_n=2), 3, [2, 3, 4, 5, 6]),
        (Wanted(from_n=6), 3, [6]),
        (Wanted(from_n=7), 3, []),
        (Wanted(since=BEGAN + timedelta(seconds=4)), 1, [4, 5, 6]),
        (Wanted(since=BEGAN + timedelta(days=1)), 1, []),
        (Wanted(types=("DeviceRegistered",), from_n=1), 3, [1, 4]),
        (Wanted(types=("DeviceRegistered",)), 1, [4]),
    ],
)
async def test_a_tail_begins_where_it_is_told(log, wanted, last, shown):
    await write(log, [registered(1), online(2)], [online(3)], [registered(4), online(5), online(6)])
    assert await tailed(log, wanted, last) == shown


async def test_a_tail_of_an_empty_log_shows_nothing(log):
    assert await tailed(log, Wanted()) == await tailed(log, Wanted(from_n=1)) == []


async def test_a_tail_that_follows_shows_each_event_once_as_it_comes(log):
    await write(log, [online(1), online(2)])
    shown = asyncio.Queue()
    following = asyncio.create_task(
        show_tail(log, Wanted(), 1, True, lambda found: [shown.put_nowait(record.envelope.n) for record in found])
    )
    assert await shown.get() == 2
    await write(log, [online(3)], [online(4)])
    assert [await asyncio.wait_for(shown.get(), 5) for _ in range(2)] == [3, 4]
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert shown.empty()


async def test_a_tail_from_an_ordinal_that_is_still_to_come_waits_for_it(log):
    await write(log, [online(1)])
    shown = asyncio.Queue()
    following = asyncio.create_task(
        show_tail(
            log, Wanted(from_n=3), 1, True, lambda found: [shown.put_nowait(record.envelope.n) for record in found]
        )
    )
    await write(log, [online(2), online(3)])
    assert await asyncio.wait_for(shown.get(), 5) == 3
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
