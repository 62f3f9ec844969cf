"""Three NATS nodes with three copies: one dies, and nothing that was acknowledged is lost or doubled.

The long story, with every service in two processes, is `make chaos`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial

import msgspec
import pytest
from nats.js.errors import APIError

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Accepted
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.eventlog.streams import CompressedReplicas, StreamRefused, ensure_stream
from drover.testing.waiting import eventually
from drover.writer.nats_writer import nats_writer, prepare
from tests.chaos.cluster import NODES, running_cluster
from tests.integration.writer.bank import Deposit, bank

pytestmark = pytest.mark.timeout(300)

PATIENCE_S = 90.0
"""An election takes 4 to 9 s; machines may be busy."""
DEPOSITS = 60
WRITTEN = 10


@pytest.mark.slow
@pytest.mark.req("EV-02")
async def test_when_the_node_that_leads_the_log_dies_every_deposit_is_there_once(tmp_path):
    decider, partition = bank("vault"), Partition("vault")
    async with running_cluster(tmp_path) as cluster, connected(cluster.url, "clients") as client:
        await prepare(client, ("vault",), replicas=NODES)
        info = await cluster.info(client, "VAULT")
        assert (info.config.num_replicas, len(info.cluster.replicas)) == (NODES, NODES - 1)
        doomed = await cluster.leader(client, "VAULT")
        # The writer knows the address of this one node; of the others it hears from the node itself.
        async with (
            connected(doomed.url_as("drover"), "writer") as own,
            nats_writer(own, decider, instance="writer").running() as writer,
        ):
            await eventually(writer.leading.is_set, PATIENCE_S)
            bus, acknowledged = CommandBus(client), []

            async def deposit(number):
                token = f"token-{number}"
                while not isinstance(await bus.send("vault", Deposit(token), by="somebody", id=token), Accepted):
                    pass
                acknowledged.append(token)

            await asyncio.gather(*(deposit(number) for number in range(DEPOSITS)))
            under_way = [asyncio.create_task(deposit(number)) for number in range(DEPOSITS, 2 * DEPOSITS)]
            await doomed.kill()
            under_way += [asyncio.create_task(deposit(number)) for number in range(2 * DEPOSITS, 3 * DEPOSITS)]
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*under_way)
            await doomed.start()
            await eventually(lambda: cluster.caught_up(client, "VAULT"), PATIENCE_S, every_s=0.2)
            log = JetStreamLog(client, partition)
            events = await read_all(log, Codec.of(decider))
        assert [event.n for event in events] == list(range(1, len(events) + 1))
        found = Counter(event.token for event in events if hasattr(event, "token"))
        assert found == Counter(acknowledged)
        assert len(acknowledged) == 3 * DEPOSITS


@pytest.mark.slow
@pytest.mark.req("EV-02", "YR-01")
async def test_restarts_damage_compressed_replicas_and_ours_are_not_compressed(tmp_path):
    """Control: nats-server compresses the last block of a replica after a restart and goes on writing to it. If this
    part of the test turns red, nats-server has been mended, and ADR 0049 can go."""
    packed, ours = [f"packed{number}" for number in range(3)], ["ours"]
    logs = [*packed, *ours]
    async with running_cluster(tmp_path) as cluster, connected(cluster.url, "test") as client:
        node = cluster.nodes[2]
        for name in logs:
            await ensure_stream(client, name, replicas=NODES)
        for name in packed:
            await compress(client, name.upper())
            with pytest.raises(CompressedReplicas, match="drover log replicas 3"):
                await ensure_stream(client, name, replicas=NODES)

        async def write():
            for name in logs:
                for _ in range(WRITTEN):
                    await client.jetstream().publish(f"evt.{name}.main", b"{}" * 100)

        async def caught_up():
            for name in logs:
                await eventually(partial(cluster.caught_up, client, name.upper()), PATIENCE_S, every_s=0.2)

        await write()
        await node.stop()  # in good order: NATS notes how far each replica is
        await node.start()
        await caught_up()
        await write()
        await node.kill()
        await node.start()
        await caught_up()
        await write()
        await caught_up()

        async def found_unreadable():
            return {name for name in logs if not await readable_on(node, client, name.upper(), 3 * WRITTEN)}

        unreadable = await eventually(found_unreadable, PATIENCE_S)  # once the node has forgotten what it wrote
        assert unreadable <= set(packed)
        for name in unreadable:
            last = 0
            async with JetStreamLog(client, Partition(name)).read(0) as reader:
                while last < 3 * WRITTEN:  # read from another node
                    async with asyncio.timeout(PATIENCE_S):
                        last = (await reader.next())[-1].seq


async def compress(client, stream):
    config = msgspec.json.decode((await client.request(f"$JS.API.STREAM.INFO.{stream}")).data)["config"]
    body = msgspec.json.encode(config | {"compression": "s2"})
    await client.request(f"$JS.API.STREAM.UPDATE.{stream}", body)


async def readable_on(node, client, stream, last):
    """Whether a node can read every message of its replica: the leader of a stream answers from its own."""

    async def leads():
        info = await client.jetstream().stream_info(stream)
        if info.cluster.leader == node.name:
            return True
        body = msgspec.json.encode({"placement": {"preferred": node.name}})
        await client.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}", body)
        return False

    await eventually(leads, PATIENCE_S, every_s=0.5)
    try:
        for seq in range(1, last + 1):
            await client.jetstream().get_msg(stream, seq)
    except APIError:
        return False
    return True


async def read_all(log, codec):
    last = await log.last()
    events, seq = [], 0
    async with log.read(0) as reader:
        while seq < last.seq:
            for commit in await reader.next():
                events += codec.decode(commit.payload)
                seq = commit.seq
    return events


async def test_three_copies_on_one_server_are_refused_with_a_sentence(nats_url):
    async with connected(nats_url, "test") as client:
        with pytest.raises(StreamRefused, match="DROVER_NATS_REPLICAS=3"):
            await prepare(client, ("lonely",), replicas=3)
