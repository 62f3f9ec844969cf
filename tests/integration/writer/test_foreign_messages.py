"""A message in the log that no writer put there: NATS lets whoever may ask name any subject for the answer."""

from uuid import uuid4

import pytest

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Accepted
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import AppendConflict, Commit, Partition
from drover.eventlog.streams import ensure_stream
from drover.testing.waiting import eventually
from drover.writer.nats_writer import nats_writer, prepare
from tests.integration.writer.bank import Count, Deposit, bank
from tests.integration.writer.writer_process import short_lease

pytestmark = pytest.mark.req("EV-02")


@pytest.fixture
def context():
    return f"t{uuid4().hex[:12]}"


@pytest.fixture
async def client(nats):
    async with connected(nats.url, "test") as connection:
        yield connection


async def slip_in(client, log):
    """An answer of the server itself, into the log. The one who asks needs no right to write there."""
    before = await log.context_end()
    await client.publish("$JS.API.INFO", b"", reply=log.partition.subject)

    async def landed():
        return await log.context_end() > before

    await eventually(landed)


async def test_it_keeps_its_position_and_says_nothing(client, context):
    await ensure_stream(client, context)
    log = JetStreamLog(client, Partition(context))
    await log.append(Commit("one", 1, b"{}\n"), 0)
    await slip_in(client, log)
    with pytest.raises(AppendConflict):
        await log.append(Commit("two", 1, b"{}\n"), 1)
    assert await log.append(Commit("two", 1, b"{}\n"), 2) == 3
    async with log.read(0) as reader:
        read = []
        while len(read) < 3:
            read += await reader.next()
    assert [(commit.seq, commit.id, commit.payload) for commit in read] == [
        (1, "one", b"{}\n"),
        (2, "", b""),
        (3, "two", b"{}\n"),
    ]
    assert await log.get(2) == read[1], "read one by one, too"


async def test_a_writer_goes_on_and_so_does_one_that_starts_later(nats, client, context):
    await prepare(client, (context,))
    log, bus = JetStreamLog(client, Partition(context)), CommandBus(client)

    async def deposit():
        outcome = await bus.send(context, Deposit(uuid4().hex), by="test")
        assert isinstance(outcome, Accepted), outcome

    for _ in range(2):
        writer = nats_writer(client, bank(context), instance="a", lease_times=short_lease(2.0))
        async with writer.running():
            await eventually(writer.leading.is_set, within_s=30)
            await deposit()
            await slip_in(client, log)
            await slip_in(client, log)
            await deposit()
            counted = await bus.send(context, Count(), by="test")
        await slip_in(client, log)
    assert counted.result == 4
