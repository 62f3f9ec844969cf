"""One suite for the log's port, run on every adapter, and on both servers."""

import asyncio
from contextlib import suppress

import pytest
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import AppendConflict, Commit, LogFull, Partition
from drover.eventlog.memory import MemoryLog
from drover.eventlog.streams import ensure_stream


@pytest.fixture(params=["memory", "jetstream"])
async def log(request, server):
    if request.param == "memory":
        yield MemoryLog(Partition("contract"))
        return
    context = f"c{uuid4().hex[:12]}"
    async with connected(server.url, "contract") as client:
        await ensure_stream(client, context)
        yield JetStreamLog(client, Partition(context))


def commit(text="{}"):
    return Commit(str(uuid4()), 1, text.encode() + b"\n")


async def fill(log, count):
    seq = 0
    for number in range(count):
        seq = await log.append(commit(f'{{"number":{number}}}'), seq)
    return seq


async def test_an_empty_log_has_no_last_commit(log):
    assert await log.last() is None
    assert await log.get(1) is None


@pytest.mark.req("EV-02")
async def test_what_was_appended_is_read_back_as_it_was(log):
    sent = commit('{"colour":"붉은"}')
    seq = await log.append(sent, 0)
    for found in (await log.last(), await log.get(seq)):
        assert (found.seq, found.id, found.epoch, found.payload) == (seq, sent.id, sent.epoch, sent.payload)


async def test_sequences_rise(log):
    first = await log.append(commit(), 0)
    assert await log.append(commit(), first) > first


@pytest.mark.parametrize("expected", [0, 1])
async def test_an_append_that_expects_another_sequence_is_refused_and_leaves_no_trace(log, expected):
    last = await fill(log, 2)
    with pytest.raises(AppendConflict):
        await log.append(commit(), expected)
    assert (await log.last()).seq == last


async def test_of_two_that_expect_the_same_sequence_one_wins(log):
    results = await asyncio.gather(*(log.append(commit(), 0) for _ in range(10)), return_exceptions=True)
    assert sum(isinstance(result, int) for result in results) == 1
    assert sum(isinstance(result, AppendConflict) for result in results) == 9


async def test_an_identical_commit_sent_again_is_recognised_or_refused_but_never_stored_twice(log):
    sent = commit()
    seq = await log.append(sent, 0)
    with suppress(AppendConflict):
        assert await log.append(sent, 0) == seq
    assert (await log.last()).seq == seq


async def limit(log, bytes_max):
    """Give the log a quota, or lift it (None)."""
    if isinstance(log, MemoryLog):
        log.bytes_max = bytes_max
        return
    jetstream = log._client.jetstream()
    config = (await jetstream.stream_info(log.partition.stream)).config
    await jetstream.update_stream(config, max_bytes=bytes_max or -1)


@pytest.mark.req("YR-12")
async def test_a_full_log_refuses_at_once_leaves_no_trace_and_takes_the_same_commit_when_it_has_room(log):
    last = await fill(log, 2)
    await limit(log, 10)
    refused = commit()
    with pytest.raises(LogFull):
        await asyncio.wait_for(log.append(refused, last), 30)
    assert log.unsettled is None
    assert (await log.last()).seq == last
    await limit(log, None)
    assert await log.append(refused, last) == last + 1
    assert (await log.last()).id == refused.id


@pytest.mark.req("YR-12")
async def test_a_full_log_still_tells_a_writer_that_another_one_has_written(log):
    await fill(log, 2)
    await limit(log, 10)
    with pytest.raises(AppendConflict):
        await log.append(commit(), 1)


async def test_a_reader_gets_everything_in_order_then_what_comes_later(log):
    last = await fill(log, 700)
    async with log.read(0) as reader:
        seen = []
        while len(seen) < 700:
            seen += [found.payload for found in await reader.next()]
        assert seen == [f'{{"number":{number}}}\n'.encode() for number in range(700)]
        assert reader.behind == 0
        following = asyncio.create_task(reader.next())
        await log.append(commit('"later"'), last)
        assert [found.payload for found in await following] == [b'"later"\n']


async def test_a_reader_starts_after_the_sequence_it_is_given(log):
    await fill(log, 3)
    async with log.read(2) as reader:
        assert [found.seq for found in await reader.next()] == [3]


async def test_a_cancelled_read_loses_nothing(log):
    async with log.read(0) as reader:
        waiting = asyncio.create_task(reader.next())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await fill(log, 5)
        seen = []
        while len(seen) < 5:
            seen += [found.payload for found in await reader.next()]
        assert len(seen) == 5


async def test_a_slow_reader_is_not_flooded(log):
    await fill(log, 1500)
    async with log.read(0) as reader:
        first = await reader.next()
        assert len(first) <= 512
        count = len(first)
        while count < 1500:
            batch = await reader.next()
            assert len(batch) <= 512
            count += len(batch)
