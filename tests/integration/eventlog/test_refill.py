"""Putting commits back into a stream of a real server, which may die meanwhile."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime, timedelta

import pytest
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext
from uuid_utils import uuid4

from drover.archive.errors import LogNotEmpty
from drover.archive.restoring import restore
from drover.archive.text import Placed
from drover.bus.connection import connected
from drover.eventlog import refill as refill_module
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, Commit, Partition, StoredCommit
from drover.eventlog.refill import NotTaken, Refill, Returning
from drover.eventlog.streams import ensure_stream

AT = datetime(2020, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)
COMMITS = 200


def made(count=COMMITS):
    found = []
    for seq in range(1, count + 1):
        name, n = f"p{seq % 2}", (seq + 1) // 2
        payload = b'{"type":"X","n":%d,"at":"2020-02-29T23:00:00Z","by":""}\n' % n
        found.append(Placed(name, StoredCommit(seq, f"id-{seq}", seq % 7, AT + timedelta(seconds=seq), payload)))
    return found


class Commits:
    """A source of commits that calls `on_read` before each of them."""

    def __init__(self, placed, on_read=lambda seq: None, first=1):
        self._placed = placed
        self._on_read = on_read
        self.first, self.last = first, len(placed)

    async def commits(self, after):
        for placed in self._placed[after:]:
            self._on_read(placed.commit.seq)
            yield placed

    async def previous(self, seq):
        return {placed.partition: placed.commit.seq for placed in self._placed[:seq]}


def returning(placed):
    return Returning(placed.partition, placed.commit, max(placed.commit.seq - 2, 0))


async def read_back(client, context, count):
    found = []
    async with JetStreamLog(client, Partition(context, ALL)).read(0) as reader:
        while len(found) < count:
            found += await reader.next()
    return found


@pytest.mark.req("EV-06")
async def test_a_server_that_is_killed_meanwhile_has_each_commit_once_at_its_place(own_nats, monkeypatch):
    monkeypatch.setattr(refill_module, "BATCH_COMMITS", 30)
    commits = made()
    kills = [50, 120]

    def on_read(seq):
        if kills and seq == kills[0]:
            kills.pop(0)
            os.kill(own_nats.pid, signal.SIGKILL)  # supervision starts it again

    async with connected(own_nats.url, "test") as client:
        await ensure_stream(client, "fleet", partitions=2)
        done = await restore(Refill(client, "fleet"), Commits(commits, on_read))
        assert (done.last, done.events, kills) == (COMMITS, COMMITS, [])
        assert await read_back(client, "fleet", COMMITS) == [placed.commit for placed in commits]
        info = await client.jetstream().stream_info("FLEET")
        assert (info.state.first_seq, info.state.last_seq, info.state.messages) == (1, COMMITS, COMMITS)


@pytest.mark.req("EV-06")
async def test_somebody_who_writes_meanwhile_is_never_written_over(own_nats):
    commits = made(20)
    async with connected(own_nats.url, "test") as client:
        await ensure_stream(client, "fleet", partitions=2)
        refill = Refill(client, "fleet")
        await refill.prepare()
        await refill.put(refill.pack([returning(placed) for placed in commits[:9]]))
        foreign = Commit("a writer's", 1, commits[0].commit.payload)
        await JetStreamLog(client, Partition("fleet", "p0")).append(foreign, 8)
        with pytest.raises(NotTaken, match=r"commit 10: .*wrong last"):
            await refill.put(refill.pack([returning(commits[9])]))
        with pytest.raises(NotTaken, match=r"commits 10 to 20: .*wrong last"):
            await refill.put(refill.pack([returning(placed) for placed in commits[9:]]))
        with pytest.raises(LogNotEmpty):
            await restore(refill, Commits(commits))
        assert [commit.id for commit in await read_back(client, "fleet", 10)][8:] == ["id-9", "a writer's"]


@pytest.mark.req("YR-11")
async def test_a_restored_commit_names_the_one_before_it_and_nothing_below_the_bottom_is_written(nats):
    commits, context = made(50), f"t{uuid4().hex[:12]}"
    async with connected(nats.url, "test") as client:
        await ensure_stream(client, context, partitions=2, first_seq=31)
        done = await restore(Refill(client, context), Commits(commits, first=31))
        assert (done.events, done.found) == (20, 0)
        jetstream = client.jetstream()
        state = (await jetstream.stream_info(context.upper())).state
        assert (state.first_seq, state.last_seq, state.messages) == (31, 50, 20)
        stored = [await jetstream.get_msg(context.upper(), seq) for seq in (31, 32, 50)]
        assert [message.headers["Drover-Previous"] for message in stored] == ["29", "30", "48"]
        assert [message.subject for message in stored] == [f"evt.{context}.p{seq % 2}" for seq in (31, 32, 50)]


@pytest.mark.req("YR-11")
async def test_a_user_who_may_not_change_the_stream_restores_one_by_one(nats, monkeypatch):
    async def refused(self, config):
        raise NatsTimeout

    monkeypatch.setattr(JetStreamContext, "update_stream", refused)
    commits, context = made(30), f"t{uuid4().hex[:12]}"
    async with connected(nats.url, "test") as client:
        await ensure_stream(client, context, partitions=2)
        refill = Refill(client, context)
        await restore(refill, Commits(commits))
        assert refill.batch_commits == 1
        assert await read_back(client, context, 30) == [placed.commit for placed in commits]
