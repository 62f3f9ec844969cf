"""Announcements of commits over a real server: a process that has synced knows of every answered write."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from drover.bus import commits
from drover.bus.commits import CommitFeed, announcing_commits
from drover.bus.connection import connected
from drover.eventlog.log import Partition
from drover.projection.newest import Newest
from drover.testing.faults import faulty_line
from drover.testing.waiting import eventually

ROUNDS = 300
PATIENCE_S = 30.0
PARTITIONS = (Partition("fleet"), Partition("reminder", "p0"), Partition("reminder", "p1"))


class Log:
    """The end of each log, and how often it was read."""

    def __init__(self):
        self.ends = {"fleet": 0, "reminder": 0}
        self.reads = 0

    async def end_of(self, context):
        self.reads += 1
        return self.ends[context]


@pytest.fixture
def log():
    return Log()


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """On a busy machine, NATS or this process may stand still for longer than a read waits."""
    monkeypatch.setattr(commits, "SYNC_S", PATIENCE_S)


@asynccontextmanager
async def door(url, log):
    """A process that answers reads: its connection, and what it knows."""
    async with connected(url, "door") as client:
        feed = CommitFeed(client, log.end_of)
        newest = Newest(PARTITIONS, feed.sync)
        async with feed.running(newest):
            yield client, newest


async def test_what_was_announced_before_an_answer_is_known_after_a_sync(nats, log):
    async with connected(nats.url, "writer") as writer, door(nats.url, log) as (_, newest):
        announce = announcing_commits(writer, "fleet", "main")
        assert await newest.sync(("fleet",))

        async def answer(message):
            announce(int(message.data))
            asyncio.get_running_loop().create_task(message.respond(b""))  # as the bus sends its answers

        asked = await writer.subscribe("ask", cb=answer)
        async with connected(nats.url, "other door") as other:
            await writer.flush()
            for seq in range(1, ROUNDS + 1):
                await other.request("ask", b"%d" % seq, timeout=PATIENCE_S)
                assert await newest.sync(("fleet",))
                assert newest.of("fleet") == {"fleet": seq}
        await asked.unsubscribe()
    assert log.reads == 1, "the end of the log is read once for each connection"


async def test_partitions_are_told_apart(nats, log):
    async with connected(nats.url, "writer") as writer, door(nats.url, log) as (_, newest):
        assert await newest.sync(("reminder",))
        for name, seq in (("p0", 4), ("p1", 9), ("p7", 12)):
            announcing_commits(writer, "reminder", name)(seq)
        await asyncio.sleep(0)
        await writer.flush()
        assert await newest.sync(("reminder",))
        assert newest.of("reminder") == {"reminder.p0": 4, "reminder.p1": 9}


async def test_a_process_that_starts_late_reads_the_end_of_the_log_once(nats, log):
    log.ends["fleet"] = 41
    async with door(nats.url, log) as (_, newest):
        assert all(await asyncio.gather(*(newest.sync(("fleet",)) for _ in range(20))))
        assert newest.of("fleet") == {"fleet": 41}
    assert log.reads == 1


@asynccontextmanager
async def behind_a_line(nats, log):
    """A door whose connection to NATS can be held and cut."""
    async with faulty_line("127.0.0.1", nats.port) as line:
        url = nats.url.replace(str(nats.port), str(line.port))
        async with door(url, log) as (client, newest):
            yield line, client, newest


async def known_after_a_late_announcement(nats, log):
    """What a door knows after a sync, if the announcement is still on its way when the sync begins."""
    async with connected(nats.url, "writer") as writer, behind_a_line(nats, log) as (line, _, newest):
        assert await newest.sync(("fleet",))
        line.hold()
        announcing_commits(writer, "fleet", "main")(5)
        await asyncio.sleep(0)
        await writer.flush()
        syncing = asyncio.create_task(newest.sync(("fleet",)))
        await writer.flush()
        line.resume()
        assert await syncing
        return newest.of("fleet")


async def test_a_sync_waits_for_announcements_that_are_still_on_their_way(nats, log):
    for _ in range(20):
        assert await known_after_a_late_announcement(nats, log) == {"fleet": 5}


@pytest.mark.control
async def test_without_the_ping_a_late_announcement_is_missed(nats, log, monkeypatch):
    async def at_once():
        return True

    monkeypatch.setattr(CommitFeed, "_pinged", lambda self: at_once())
    assert [await known_after_a_late_announcement(nats, log) for _ in range(20)] != [{"fleet": 5}] * 20


async def test_after_a_cut_the_end_of_the_log_is_read_again(nats, log):
    async with behind_a_line(nats, log) as (line, client, newest):
        assert await newest.sync(("fleet",))
        log.ends["fleet"] = 7
        line.cut_all()
        await eventually(lambda: client.stats["reconnects"] == 1 and client.is_connected)
        assert await newest.sync(("fleet",))
        assert newest.of("fleet") == {"fleet": 7}
    assert log.reads == 2


async def test_while_nats_hangs_nobody_waits_twice_and_later_all_is_known_again(nats, log, monkeypatch):
    monkeypatch.setattr(commits, "GIVEN_UP_S", 3600.0)
    async with behind_a_line(nats, log) as (line, client, newest):
        assert await newest.sync(("fleet",))
        line.hold()
        monkeypatch.setattr(commits, "SYNC_S", 0.05)
        assert not await newest.sync(("fleet",))
        monkeypatch.setattr(commits, "SYNC_S", 3600.0)
        assert not await newest.sync(("fleet",)), "it does not wait for NATS again"
        monkeypatch.setattr(commits, "GIVEN_UP_S", 0.0)
        line.resume()
        await eventually(lambda: newest.sync(("fleet",)))
        assert client.stats["reconnects"] == 0, "a pong that comes late does no harm"
