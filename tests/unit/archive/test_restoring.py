"""Commits back into a log: each at its place, once, whatever the server does meanwhile."""

import asyncio
from contextlib import asynccontextmanager

import msgspec
import pytest

from drover.archive import restoring
from drover.archive.errors import LogNotEmpty, RestoreStopped
from drover.archive.restoring import restore
from drover.eventlog.log import LogUnreachable
from drover.eventlog.refill import NotTaken

from .conftest import Stream

pytestmark = pytest.mark.req("EV-06")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(restoring, "RETRY_PAUSE_S", 0.0)


class Batch(msgspec.Struct):
    last: int
    batch: list


class Server:
    """Keeps what it is given at the right place, and fails when it is told to."""

    context = "fleet"
    batch_commits = 1

    def __init__(self, fails=(), away=0, batch=1, loses_answers=False):
        self.kept = []
        self.previous = []
        self.sent = []
        self.packed = 0
        self.waits_for = 0
        """How many batches must be packed before one is stored."""
        self.busy = False
        self._batch = batch
        self._loses_answers = loses_answers
        self._fails = list(fails)
        self._away = away

    async def last(self):
        if self._away:
            self._away -= 1
            raise LogUnreachable("away")
        return self.kept[-1][1] if self.kept else None

    async def prepare(self):
        self.batch_commits = self._batch

    @asynccontextmanager
    async def read(self, after):
        self._after = after
        yield self

    async def next(self):
        return [commit for _, commit in self.kept if commit.seq > self._after]

    def pack(self, batch):
        self.packed += 1
        return Batch(last=batch[-1].commit.seq, batch=batch)

    async def put(self, packed):
        assert not self.busy, "one batch is in flight"
        self.busy = True
        try:
            while self.packed < min(self.waits_for, len(self.sent) + 2):
                await asyncio.sleep(0)
            self._put(packed.batch)
        finally:
            self.busy = False

    def _put(self, batch):
        self.sent.append(len(batch))
        commits = [(one.partition, one.commit) for one in batch]
        if self.kept:
            assert commits[0][1].seq == self.kept[-1][1].seq + 1, "the expected sequence would refuse it"
        if self._fails and self._fails[0] in {commit.seq for _, commit in commits}:
            self._fails.pop(0)
            if self._loses_answers:
                self._keep(batch)
            raise NotTaken("not this time")
        self._keep(batch)

    def _keep(self, batch):
        self.kept += [(one.partition, one.commit) for one in batch]
        self.previous += [one.previous for one in batch]


class Commits:
    """A source of commits that were archived."""

    def __init__(self, placed, first=1):
        self._placed = placed
        self.first, self.last = first, len(placed)

    async def commits(self, after):
        for placed in self._placed[after:]:
            yield placed

    async def previous(self, seq):
        return {placed.partition: placed.commit.seq for placed in self._placed[:seq]}


async def put_back(server, stream, first=1, **more):
    return await restore(server, Commits(stream.placed, first), **more)


async def test_all_of_it_is_there_afterwards():
    stream, server, seen = Stream("p0", "p1").grown(30), Server(), []
    made = await put_back(server, stream, progress=lambda done, of: seen.append((done, of)))
    assert server.kept == [(placed.partition, placed.commit) for placed in stream.placed]
    assert (made.last, made.events, made.found) == (30, 60, 0)
    assert (seen[0], seen[-1]) == ((0, 30), (30, 30))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


async def test_it_goes_on_where_it_was():
    stream, server = Stream().grown(30), Server()
    server.kept = [(placed.partition, placed.commit) for placed in stream.placed[:12]]
    made = await put_back(server, stream)
    assert (made.found, len(server.kept)) == (12, 30)
    made = await put_back(server, stream)
    assert (made.found, made.events) == (30, 0)


@pytest.mark.req("YR-11")
async def test_commits_are_written_in_batches_and_each_names_the_one_before_it_in_its_partition():
    stream, server = Stream("p0", "p1").grown(25), Server(batch=10)
    await put_back(server, stream)
    assert server.sent == [10, 10, 5]
    assert server.previous == [0, 0, *range(1, 24)]


@pytest.mark.req("YR-11")
async def test_a_large_batch_is_written_in_parts(monkeypatch):
    monkeypatch.setattr(restoring, "BATCH_BYTES", 1)
    server = Server(batch=10)
    await put_back(server, Stream().grown(3))
    assert server.sent == [1, 1, 1]


@pytest.mark.req("YR-11")
async def test_nothing_below_the_bottom_is_restored():
    stream, server = Stream("p0", "p1").grown(30), Server(batch=10)
    seen = []
    made = await put_back(server, stream, first=15, progress=lambda done, of: seen.append((done, of)))
    assert [commit.seq for _, commit in server.kept] == list(range(15, 31))
    assert server.previous == list(range(13, 29)), "the first two name commits that are in the archive only"
    assert (made.found, seen[0], seen[-1]) == (0, (0, 16), (16, 16))
    assert (await put_back(server, stream, first=15)).found == 16


async def test_a_batch_whose_answer_was_lost_is_not_written_again():
    stream, server = Stream().grown(30), Server(batch=10, fails=(13,), loses_answers=True)
    made = await put_back(server, stream)
    assert [commit for _, commit in server.kept] == [placed.commit for placed in stream.placed]
    assert (server.sent, made.events) == ([10, 10, 10], 60)


async def test_a_server_that_stumbles_is_asked_what_it_has():
    stream, server = Stream().grown(30), Server(fails=(3, 3, 9, 30))
    await put_back(server, stream)
    assert [commit for _, commit in server.kept] == [placed.commit for placed in stream.placed]


async def test_a_server_that_takes_nothing_is_given_up_and_says_how_far_it_came():
    with pytest.raises(RestoreStopped, match="up to 8 are in the log") as stopped:
        await put_back(Server(fails=[9] * 20), Stream().grown(30))
    assert stopped.value.seq == 8


async def test_a_log_with_commits_of_its_own_is_refused():
    stream = Stream().grown(10)
    for other in (Stream().grown(3).commit("mine", id="mine"), Stream().grown(11)):
        server = Server()
        server.kept = [(placed.partition, placed.commit) for placed in other.placed]
        had = list(server.kept)
        with pytest.raises(LogNotEmpty, match="Only an empty log"):
            await put_back(server, stream)
        assert server.kept == had


async def test_what_somebody_else_put_in_between_is_found_when_all_is_read_back():
    stream, server = Stream().grown(10), Server()
    await put_back(server, stream)
    server.kept[4] = ("main", msgspec.structs.replace(server.kept[4][1], id="of a writer"))
    with pytest.raises(LogNotEmpty, match="wrote commit 5"):
        await put_back(server, stream)


async def test_the_same_commit_with_another_time_or_epoch_is_not_the_same():
    stream = Stream().grown(5)
    for change in ({"epoch": 99}, {"payload": b"{}\n"}, {"id": "x"}, {"stored_at": stream.placed[0].commit.stored_at}):
        server = Server()
        server.kept = [("main", msgspec.structs.replace(stream.placed[2].commit, **change))]
        with pytest.raises(LogNotEmpty):
            await put_back(server, stream)


@pytest.mark.req("YR-11")
async def test_a_batch_is_encoded_while_the_one_before_is_stored_but_sent_afterwards():
    server = Server(batch=10)
    server.waits_for = 4
    async with asyncio.timeout(10):  # if nothing were encoded meanwhile, the server would wait for ever
        await put_back(server, Stream().grown(40))
    assert server.sent == [10, 10, 10, 10]


@pytest.mark.req("YR-11")
async def test_after_a_refused_batch_the_encoded_one_is_not_sent():
    stream, server = Stream().grown(40), Server(batch=10, fails=(13,))
    await put_back(server, stream)
    assert [commit for _, commit in server.kept] == [placed.commit for placed in stream.placed]
    assert server.sent == [10, 10, 10, 10, 10], "the second batch twice, and nothing between its two tries"
