"""Several partitions over several processes' writers, on a real NATS."""

from contextlib import AsyncExitStack, asynccontextmanager
from uuid import uuid4

import pytest

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Accepted
from drover.testing.waiting import eventually
from drover.writer.nats_writer import nats_writer, prepare
from drover.writer.peers import Peers
from tests.integration.writer.bank import Count, Deposit, bank
from tests.integration.writer.writer_process import short_lease

PARTITIONS = 4
TTL_S = 2.0


@pytest.fixture
def context():
    return f"t{uuid4().hex[:12]}"


@asynccontextmanager
async def process(nats, context, instance):
    """As a process runs the writers of all partitions: its own connection, its own peers."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connected(nats.url, instance))
        divided = (await prepare(client, (context,), partitions={context: PARTITIONS}))[context]
        names = [partition.name for partition in divided]
        peers = Peers(context, instance, names)
        await stack.enter_async_context(peers.running(client))
        writers = {}
        for name in names:
            writer = nats_writer(
                client,
                bank(context),
                instance=instance,
                partition=name,
                lease_times=short_lease(TTL_S),
                peers=peers,
            )
            writers[name] = await stack.enter_async_context(writer.running())
        yield writers


def led(writers):
    return {name for name, writer in writers.items() if writer.leading.is_set()}


@pytest.mark.req("RM-06")
async def test_partitions_are_shared_out_and_taken_over_and_nothing_is_lost(nats, context):
    deposited = dict.fromkeys((f"p{number}" for number in range(PARTITIONS)), 0)

    async with connected(nats.url, "caller") as client:
        bus = CommandBus(client)

        async def deposit():
            for name in deposited:
                outcome = await bus.send(context, Deposit(uuid4().hex), by="test", partition=name)
                assert isinstance(outcome, Accepted), outcome
                deposited[name] += 1

        async with process(nats, context, "a") as a:
            await eventually(lambda: len(led(a)) == PARTITIONS)
            await deposit()
            async with process(nats, context, "b") as b:
                await eventually(lambda: (led(a), led(b)) == ({"p0", "p2"}, {"p1", "p3"}), within_s=30)
                await deposit()
                async with process(nats, context, "c") as c:
                    await eventually(lambda: len(led(a)) + len(led(b)) + len(led(c)) == PARTITIONS and led(c), 30)
                    await deposit()
                await eventually(lambda: (led(a), led(b)) == ({"p0", "p2"}, {"p1", "p3"}), within_s=30)
                await deposit()
            await eventually(lambda: len(led(a)) == PARTITIONS, within_s=30)
            for name, count in deposited.items():
                outcome = await bus.send(context, Count(), by="test", partition=name)
                assert outcome.result == count == 4


async def test_the_number_of_partitions_is_the_one_that_the_log_was_made_with(nats, context):
    async with connected(nats.url, "test") as client:
        first = await prepare(client, (context,), partitions={context: 3})
        again = await prepare(client, (context,), partitions={context: 8})
        plain = await prepare(client, (f"{context}x",))
    assert [partition.name for partition in first[context]] == ["p0", "p1", "p2"]
    assert again == first
    assert [partition.name for partition in plain[f"{context}x"]] == ["main"]
