"""Asking over NATS whether a partition would accept a command now."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.testing.faults import faulty_line
from drover.testing.waiting import eventually
from drover.writer.acceptance import ask, ask_in_use
from drover.writer.nats_lease import LeaseTimes, read_lease
from drover.writer.nats_writer import nats_writer, prepare
from drover.writer.refusals import RefusalCode

from .bank import bank

TIMES = LeaseTimes(ttl_s=4, renew_every_s=1, safety_s=1, poll_every_s=0.2)
ASKERS = 50


@pytest.fixture
def partition():
    return Partition(f"t{uuid4().hex[:10]}")


@pytest.fixture
async def client(nats, partition):
    async with connected(nats.url, "test") as connection:
        await prepare(connection, (partition.context,))
        yield connection


@asynccontextmanager
async def leading(client, partition):
    writer = nats_writer(client, bank(partition.context), instance="one", lease_times=TIMES)
    async with writer.running():
        await writer.leading.wait()
        yield writer


async def refusal_of(client, partition):
    refusal = (await ask(client, partition)).refusal
    return refusal and refusal.code


async def test_a_leader_says_that_it_accepts_and_many_askers_add_nothing_to_the_log(client, partition):
    log = JetStreamLog(client, partition)
    async with leading(client, partition):
        before = await log.context_end()
        answers = await asyncio.gather(*(ask(client, partition) for _ in range(ASKERS)))
        assert {(answer.leader, answer.refusal) for answer in answers} == {("one", None)}
        assert await log.context_end() == before
    assert await refusal_of(client, partition) == RefusalCode.NO_LEADER, "it has handed its lease over"


async def test_a_context_that_no_writer_ever_led_is_not_in_use(client, partition):
    assert await refusal_of(client, partition) == RefusalCode.NO_LEADER
    assert await ask_in_use(client, (partition.context, "missing")) == []
    async with leading(client, partition):
        assert [one.refusal for one in await ask_in_use(client, (partition.context,))] == [None]
    assert [one.refusal.code for one in await ask_in_use(client, (partition.context,))] == [RefusalCode.NO_LEADER]


async def test_the_age_of_a_lease_is_told_by_the_clock_of_the_server(client, partition):
    async with leading(client, partition):
        known = await read_lease(client, partition)
        assert known.is_current
        assert 0 < known.left_s <= TIMES.ttl_s


async def test_a_leader_that_is_cut_off_is_missed_before_and_after_its_lease_lapses(nats, client, partition):
    async with faulty_line("127.0.0.1", nats.port) as line:
        url = nats.url.replace(f":{nats.port}", f":{line.port}")
        async with connected(url, "cut off") as its_own, leading(its_own, partition) as writer:

            async def is_heard():
                return await refusal_of(client, partition) is None

            await eventually(is_heard)  # its subscription may still be on its way to the server
            line.hold()
            assert await refusal_of(client, partition) == RefusalCode.NO_ANSWER
            await eventually(lambda: writer.refusal() is not None)  # a renewal has failed, and it knows

            async def is_given_up():
                return await refusal_of(client, partition) == RefusalCode.NO_LEADER

            await eventually(is_given_up)
            line.resume()

            async def is_back():
                return await refusal_of(client, partition) is None and writer.refusal() is None

            await eventually(is_back)
