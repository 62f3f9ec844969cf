"""Putting commits back into a stream of a real server, which may die meanwhile."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime, timedelta

import pytest

from drover.archive.errors import LogNotEmpty
from drover.archive.restoring import restore
from drover.archive.text import Placed
from drover.bus.connection import connected
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, Commit, Partition, StoredCommit
from drover.eventlog.refill import NotTaken, Refill
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


async def read_back(client, context, count):
    found = []
    async with JetStreamLog(client, Partition(context, ALL)).read(0) as reader:
        while len(found) < count:
            found += await reader.next()
    return found


@pytest.mark.req("EV-06")
async def test_a_server_that_is_killed_meanwhile_has_each_commit_once_at_its_place(own_nats):
    commits = made()
    kills = [50, 120]

    def source(after):
        for placed in commits[after:]:
            if kills and placed.commit.seq == kills[0]:
                kills.pop(0)
                os.kill(own_nats.pid, signal.SIGKILL)  # supervision starts it again
            yield placed

    async with connected(own_nats.url, "test") as client:
        await ensure_stream(client, "fleet", partitions=2)
        done = await restore(Refill(client, "fleet"), source, last=COMMITS, events=COMMITS)
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
        for placed in commits[:9]:
            await refill.put(placed.partition, placed.commit)
        foreign = Commit("a writer's", 1, commits[0].commit.payload)
        await JetStreamLog(client, Partition("fleet", "p0")).append(foreign, 8)
        with pytest.raises(NotTaken, match=r"commit 10: .*wrong last"):
            await refill.put(commits[9].partition, commits[9].commit)
        with pytest.raises(LogNotEmpty):
            await restore(refill, lambda after: iter(commits[after:]), last=20, events=20)
        assert [commit.id for commit in await read_back(client, "fleet", 10)][8:] == ["id-9", "a writer's"]
