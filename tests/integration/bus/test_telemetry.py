"""Telemetry over plain NATS: coalesced, numbered, lost on purpose when it cannot be sent."""

from datetime import timedelta

from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.bus.live import announce, following_progress
from drover.bus.telemetry import TelemetryOut, listening
from drover.testing.scenario import NOON
from drover.testing.waiting import eventually


async def test_a_device_that_beats_twice_between_two_batches_counts_once_with_the_later_beat(nats):
    context, batches = f"t{uuid4().hex[:8]}", []
    async with connected(nats.url, "test") as client, listening(client, context, batches.append):
        await client.flush()
        out = TelemetryOut(client, context, "g1")
        out.beat("d1", NOON, {"status": "online"})
        out.beat("d1", NOON + timedelta(seconds=1), {"status": "busy"})
        out.beat("d2", NOON, None)
        async with out.running():
            await eventually(lambda: batches)
    assert [(beat.device_id, beat.reported) for beat in batches[0].beats] == [("d1", {"status": "busy"}), ("d2", None)]
    assert batches[0].beats[0].seen_at == NOON + timedelta(seconds=1)


async def test_batches_are_numbered_without_a_gap_even_when_nobody_beats(nats):
    context, batches = f"t{uuid4().hex[:8]}", []
    async with connected(nats.url, "test") as client, listening(client, context, batches.append):
        await client.flush()
        async with TelemetryOut(client, context, "g1").running():
            await eventually(lambda: len(batches) >= 3)
    assert [batch.number for batch in batches] == list(range(1, len(batches) + 1))


async def test_rubbish_and_a_handler_that_is_gone_do_not_stop_the_listener(nats):
    context, batches = f"t{uuid4().hex[:8]}", []
    async with connected(nats.url, "test") as client, listening(client, context, batches.append):
        await client.publish(f"tel.{context}", b"rubbish")
        async with TelemetryOut(client, context, "g1").running():
            await eventually(lambda: batches)


async def test_progress_is_announced_to_whoever_listens(nats):
    context, heard = f"t{uuid4().hex[:8]}", []
    async with connected(nats.url, "test") as client, following_progress(client, lambda *what: heard.append(what)):
        await client.flush()
        await announce(client, context, "main", 7)
        await eventually(lambda: (context, "main", 7) in heard)
