"""A node that cannot read its own replica: its consumers say that there are messages, and deliver none."""

import asyncio

import pytest

from drover.bus.connection import connected
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.eventlog.streams import ensure_stream
from drover.testing.simulated_nats.consumer import Consumer
from drover.testing.simulated_nats.server import SimulatedNats
from drover.testing.simulated_network import run_simulated


@pytest.mark.req("EV-02")
def test_a_reader_asks_another_node_if_one_delivers_nothing(monkeypatch):
    deliver, consumers = Consumer.deliver, []

    def deliver_unless_first(consumer):
        if consumer not in consumers:
            consumers.append(consumer)
        if consumer is not consumers[0]:
            deliver(consumer)

    async def main():
        server = SimulatedNats(asyncio.get_running_loop())
        async with server.running(), connected(server.url, "test") as client:
            await ensure_stream(client, "vault")
            await client.jetstream().publish("evt.vault.main", b"{}")
            async with JetStreamLog(client, Partition("vault")).read(0) as log, asyncio.timeout(20):
                return await log.next()

    monkeypatch.setattr(Consumer, "deliver", deliver_unless_first)
    assert [commit.seq for commit in run_simulated(main())] == [1]
    assert len(consumers) == 2
