"""Following a log: in order, from a place, for ever or up to a commit, ready once what was there has been read."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from drover.archive.errors import ArchiveUnreachable
from drover.eventlog import follow as following
from drover.eventlog.follow import Follower, follow, last_before
from drover.eventlog.log import Commit, LogUnreachable, Partition
from drover.eventlog.memory import MemoryLog
from drover.testing.waiting import eventually

BEGAN = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)


async def log_of(commits: int) -> MemoryLog:
    log = MemoryLog(Partition("fleet"))
    await grow(log, commits)
    return log


async def grow(log: MemoryLog, commits: int) -> None:
    for _ in range(commits):
        await log.append(Commit("id", 1, b""), await log.context_end())


async def test_every_commit_after_a_place_is_taken_in_order_up_to_the_end_that_was_asked_for():
    taken = []
    await follow(await log_of(600), 2, lambda commit: taken.append(commit.seq), until=500)
    assert taken == list(range(3, 501))


async def test_nothing_is_read_when_the_end_has_been_reached():
    await follow(await log_of(3), 3, lambda commit: pytest.fail("nothing is left to take"), until=3)


async def test_a_taker_that_waits_holds_the_follower_back():
    room, taken = asyncio.Event(), []

    async def take(commit):
        await room.wait()
        taken.append(commit.seq)

    task = asyncio.create_task(follow(await log_of(2), 0, take, until=2))
    await asyncio.sleep(0)
    assert taken == []
    room.set()
    await task
    assert taken == [1, 2]


async def test_other_tasks_get_their_turn_while_a_long_log_is_read(monkeypatch):
    monkeypatch.setattr(following, "SLICE_S", 0.0)
    log, turns = await log_of(100), []

    async def others():
        while True:
            turns.append(None)
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    await follow(log, 0, lambda commit: None, until=100)
    task.cancel()
    assert len(turns) > 90


async def test_a_follower_is_ready_once_it_has_read_what_was_there_when_it_started():
    async def from_the_start(last):
        return 0

    gate, taken = asyncio.Event(), []

    async def take(commit):
        await gate.wait()
        taken.append(commit.seq)

    log = await log_of(2)
    follower = Follower(log, take, name="the test", begin=from_the_start)
    assert follower.why_not_ready() == "The log of fleet has not answered yet."
    async with follower.running():
        await follower.begun.wait()
        assert follower.why_not_ready() == "The test is at 0 of 2."
        gate.set()
        await eventually(lambda: follower.is_caught_up)
        assert follower.why_not_ready() is None
        await grow(log, 1)
        await eventually(lambda: taken == [1, 2, 3])


async def test_by_default_it_begins_with_what_is_yet_to_come():
    log, taken = await log_of(2), []
    follower = Follower(log, lambda commit: taken.append(commit.seq), name="the test")
    async with follower.running():
        await follower.begun.wait()
        await grow(log, 1)
        await eventually(lambda: taken)
    assert taken == [3]


async def test_a_log_that_does_not_answer_is_asked_again(monkeypatch):
    monkeypatch.setattr(following, "RETRY_PAUSE_S", 0)
    log, tries = await log_of(1), []
    last = log.last

    async def flaky():
        tries.append(None)
        if len(tries) < 3:
            raise LogUnreachable
        return await last()

    log.last = flaky
    follower = Follower(log, lambda commit: None, name="the test")
    async with follower.running():
        await eventually(lambda: follower.is_caught_up)
    assert len(tries) == 3


async def test_an_archive_that_is_away_for_a_while_does_not_end_the_follower(monkeypatch):
    monkeypatch.setattr(following, "ARCHIVE_PAUSE_S", 0)
    log, taken, tries = await log_of(2), [], []
    read = log.read

    @asynccontextmanager
    async def flaky(after):
        async with read(after) as reader:
            next_ = reader.next

            async def away_at_first():
                tries.append(None)
                if len(tries) < 3:
                    raise ArchiveUnreachable("s3://bucket", "no answer")
                return await next_()

            reader.next = away_at_first
            yield reader

    log.read = flaky

    async def from_the_start(last):
        return 0

    follower = Follower(log, lambda commit: taken.append(commit.seq), name="the test", begin=from_the_start)
    async with follower.running():
        await eventually(lambda: follower.is_caught_up)
    assert taken == [1, 2]


async def test_a_taker_that_fails_ends_the_follower():
    def fail(commit):
        raise ValueError("unreadable")

    log = await log_of(0)
    follower = Follower(log, fail, name="the test")
    async with follower.running():
        await follower.begun.wait()
        await grow(log, 1)
        with pytest.raises(ValueError, match="unreadable"):
            await asyncio.wait_for(follower.wait_failed(), 5)


class CountingLog(MemoryLog):
    """Counts which commits are read one by one."""

    def __init__(self):
        super().__init__(Partition("times"))
        self.asked = []

    async def get(self, seq):
        self.asked.append(seq)
        return await super().get(seq)


async def test_the_last_commit_before_a_moment_is_found_from_the_end():
    log = CountingLog()
    for seq in range(200):
        await log.append(Commit(str(seq), 1, b"{}\n"), seq)
    for seq in range(1, 201):
        commit = log._commits[seq - 1]
        log._commits[seq - 1] = msgspec.structs.replace(commit, stored_at=BEGAN + timedelta(minutes=seq))
    for seq in range(201):
        assert await last_before(log, BEGAN + timedelta(minutes=seq, seconds=30), 200) == seq
    log.asked.clear()
    await last_before(log, BEGAN + timedelta(minutes=195), 200)
    assert min(log.asked) > 180, "what is much older is not touched: it may be in the archive"
