"""A log that reaches its quota on a real server: callers are told, repeat themselves, and are heard exactly once."""

import asyncio
from uuid import uuid4

import pytest

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Accepted, Rejected
from drover.domain.errors import Code
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.testing.waiting import eventually
from drover.writer import acceptance
from drover.writer.nats_lease import read_holder
from drover.writer.nats_writer import nats_writer, prepare
from drover.writer.refusals import RefusalCode
from tests.integration.writer.bank import Count, Deposit, bank

QUOTA_BYTES = 20_000
RESUMES_S = 30.0


@pytest.mark.req("YR-12")
async def test_a_log_at_its_quota_is_read_only_and_goes_on_by_itself_when_the_quota_is_raised(nats):
    context = f"t{uuid4().hex[:12]}"
    tokens = [uuid4().hex for _ in range(200)]
    async with connected(nats.url, "test") as client:
        await prepare(client, (context,))
        jetstream, bus = client.jetstream(), CommandBus(client)
        log = JetStreamLog(client, Partition(context))

        async def limit(bytes_max):
            config = (await jetstream.stream_info(context.upper())).config
            await jetstream.update_stream(config, max_bytes=bytes_max)

        async def deposit(token):
            """Repeat a deposit under the same id until it is accepted; return how often it was refused."""
            refusals = 0
            while isinstance(outcome := await bus.send(context, Deposit(token), by="test", id=token), Rejected):
                assert outcome.code == Code.LOG_FULL, outcome
                refusals += 1
                await asyncio.sleep(0.2)
            return refusals

        await limit(QUOTA_BYTES)
        async with nats_writer(client, bank(context), instance="bank").running() as writer:
            await asyncio.wait_for(writer.leading.wait(), RESUMES_S)
            depositing = [asyncio.create_task(deposit(token)) for token in tokens]

            async def refuses():
                refusal = (await acceptance.ask(client, log.partition)).refusal
                return refusal is not None and refusal.code is RefusalCode.LOG_FULL

            await eventually(refuses)
            epoch = writer.epoch
            held = await read_holder(client, log.partition)
            stored = await log.last()
            counted = await bus.send(context, Count(), by="test")
            assert isinstance(counted, Accepted), "questions are answered"
            assert log.unsettled is None
            assert counted.result == sum(task.done() for task in depositing) < len(tokens)
            assert await log.last() == stored and (writer.epoch, held.instance) == (epoch, "bank"), "the term goes on"

            await limit(-1)
            refused = await asyncio.wait_for(asyncio.gather(*depositing), RESUMES_S)
            assert any(refused)
            assert (await bus.send(context, Count(), by="test")).result == len(tokens), "each exactly once"
            assert (await acceptance.ask(client, log.partition)).refusal is None
