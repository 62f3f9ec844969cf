"""Telemetry over plain NATS: coalesced, numbered, lost on purpose when it cannot be sent."""

from datetime import timedelta

import msgspec
import pytest
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.bus.live import announce, following_progress
from drover.bus.telemetry import Beat, TelemetryOut, Work, listening
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


async def first_batch(nats, say):
    """What arrives of all that was said between two batches."""
    context, batches = f"t{uuid4().hex[:8]}", []
    async with connected(nats.url, "test") as client, listening(client, context, batches.append):
        await client.flush()
        out = TelemetryOut(client, context, "g1")
        say(out)
        async with out.running():
            await eventually(lambda: batches)
    return batches[0].beats


@pytest.mark.req("DF-18", "DF-22", "DF-25")
async def test_of_several_words_between_two_batches_none_is_lost(nats):
    def say(out):
        out.beat("d1", NOON, {"status": "online", "battery_pct": 10})
        out.progress("d1", NOON + timedelta(seconds=1), Work("a1", 3, 40, ad_playing=True))
        out.beat("d1", NOON + timedelta(seconds=2), {"battery_pct": 20})
        out.beat("d1", NOON + timedelta(seconds=3), None)

    assert await first_batch(nats, say) == [
        Beat("d1", NOON + timedelta(seconds=3), {"status": "online", "battery_pct": 20}, Work("a1", 3, 40, True))
    ]


@pytest.mark.req("DF-18")
async def test_progress_is_a_sign_of_life_by_itself_and_the_newest_holds(nats):
    def say(out):
        out.progress("d1", NOON, Work("a1", 3, 40, ad_playing=True))
        out.progress("d1", NOON + timedelta(seconds=1), Work("a1", 3, 41))

    assert await first_batch(nats, say) == [Beat("d1", NOON + timedelta(seconds=1), None, Work("a1", 3, 41))]


@pytest.mark.req("DF-30")
async def test_a_pop_up_that_was_closed_is_told_even_if_the_next_report_comes_in_the_same_batch(nats):
    def say(out):
        out.progress("d1", NOON, Work("a1", 3, 40, popup_closed=True))
        out.progress("d1", NOON, Work("a1", 3, 40))
        out.progress("d2", NOON, Work("a2", 1, 40, popup_closed=True))
        out.progress("d2", NOON, Work("a2", 2, 0))

    beats = await first_batch(nats, say)
    assert [beat.work for beat in beats] == [Work("a1", 3, 40, popup_closed=True), Work("a2", 2, 0)]


async def test_claims_of_one_call_for_several_devices_stay_apart(nats):
    def say(out):
        claims = {"status": "online"}
        for device in ("d1", "d2"):
            out.beat(device, NOON, claims)
        out.beat("d1", NOON, {"battery_pct": 7})

    beats = await first_batch(nats, say)
    assert [beat.reported for beat in beats] == [{"status": "online", "battery_pct": 7}, {"status": "online"}]


async def test_a_batch_of_a_gateway_that_knows_nothing_of_work_is_still_read(nats):
    context, batches = f"t{uuid4().hex[:8]}", []
    old = {"source": "g1", "number": 1, "beats": [["d1", NOON, {"status": "online"}], ["d2", NOON, None], ["d3", NOON]]}
    async with connected(nats.url, "test") as client, listening(client, context, batches.append):
        await client.publish(f"tel.{context}", msgspec.json.encode(old))
        await eventually(lambda: batches)
    assert batches[0].beats == [Beat("d1", NOON, {"status": "online"}), Beat("d2", NOON), Beat("d3", NOON)]


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
