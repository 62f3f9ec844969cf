"""Streams at their limits, and a server at its own: definite refusals, with codes that Drover tells apart."""

import asyncio

import pytest
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.embedded.nats import NatsServer, nats_server
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, LogFull
from drover.eventlog.streams import ensure_stream
from drover.testing.simulated_nats.server import SimulatedNats
from tests.contract.nats.conftest import Failed, is_simulated, refused, stream_on

STORE_BYTES = 100_000


async def fill(stream, size, count=100):
    """Put messages until one is refused; return how many were stored, and the refusal."""
    for number in range(count):
        try:
            await stream.put("a", "x" * size)
        except Failed as refused:
            return number, refused
    raise AssertionError("nothing was refused")


async def test_a_stream_with_its_most_messages_refuses_new_ones(stream):
    await stream.update(max_msgs=2)
    stored, refused = await fill(stream, 1)
    assert (stored, refused.code, refused.text) == (2, 10077, "maximum messages exceeded")


async def test_a_stream_with_its_most_bytes_refuses_new_ones(stream):
    await stream.update(max_bytes=1000)
    stored, refused = await fill(stream, 200)
    assert (stored, refused.code, refused.text) == (4, 10077, "maximum bytes exceeded")


async def test_bytes_count_subject_headers_data_and_a_fixed_overhead(stream):
    await stream.put("a", "x" * 100)
    plain = (await stream.state())["bytes"]
    assert plain == 30 + len(stream.subject("a")) + 100
    await stream.put("a", "x" * 100, Colour="red")
    assert (await stream.state())["bytes"] == 2 * plain + 4 + len("NATS/1.0\r\nColour: red\r\n\r\n")


async def test_a_full_stream_still_says_that_an_expected_sequence_is_wrong(stream):
    await stream.update(max_msgs=1)
    await stream.put("a")
    with refused(10071, "wrong last sequence: 1"):
        await stream.put("a", after=0)
    with refused(10077, "maximum messages exceeded"):
        await stream.put("a", after=1)


async def test_a_stream_whose_limit_is_raised_takes_messages_again(stream):
    await stream.update(max_bytes=1000)
    stored, _ = await fill(stream, 200)
    await stream.update(max_bytes=2000)
    assert await stream.put("a", "x" * 200, after=stored) == stored + 1


async def test_a_stream_that_was_purged_takes_messages_again(stream):
    await stream.update(max_msgs=2)
    await fill(stream, 1)
    await stream.purge(keep=1)
    assert await stream.put("a") == 3


async def test_a_lower_limit_erases_nothing_of_a_stream_that_refuses_new_messages(stream):
    for _ in range(5):
        await stream.put("a")
    await stream.update(max_msgs=2)
    assert await stream.bounds() == (1, 5, 5)


async def test_a_lower_limit_erases_the_oldest_of_a_stream_that_discards_them_in_spite_of_its_denials(stream):
    """The reason why nobody who serves HTTP may update a stream."""
    for _ in range(5):
        await stream.put("a")
    await stream.update(deny_purge=True, deny_delete=True)
    await stream.update(deny_purge=True, deny_delete=True, discard="old", max_msgs=2)
    assert await stream.bounds() == (4, 5, 2)
    await stream.put("a")
    assert await stream.bounds() == (5, 6, 2)


async def test_a_stream_that_discards_the_oldest_stays_within_its_bytes(stream):
    await stream.update(discard="old", max_bytes=1000)
    for _ in range(10):
        await stream.put("a", "x" * 200)
    assert await stream.bounds() == (7, 10, 4)


@pytest.fixture
async def small_server(tmp_path, monkeypatch):
    """A server whose streams may hold STORE_BYTES together."""
    if is_simulated():
        async with SimulatedNats(asyncio.get_running_loop(), bytes_max=STORE_BYTES).running() as server:
            yield server
        return
    settings = NatsServer._settings

    def with_limit(self):
        found = settings(self)
        return {**found, "jetstream": {**found["jetstream"], "max_file_store": STORE_BYTES}}

    monkeypatch.setattr(NatsServer, "_settings", with_limit)
    async with nats_server(tmp_path) as server:
        yield server


async def test_a_server_whose_store_is_full_refuses_new_messages_until_there_is_room(small_server):
    async with stream_on(small_server) as stream:
        stored, refused = await fill(stream, 20_000)
        assert (stored, refused.code, refused.text) == (5, 10023, "insufficient resources")
        await stream.purge(keep=2)
        assert await stream.put("a") == stored + 1


async def test_a_server_refuses_to_reserve_more_than_its_store_has(small_server):
    with refused(10047, "insufficient storage resources available"):
        async with stream_on(small_server, max_bytes=STORE_BYTES + 1):
            pass


@pytest.mark.req("YR-12")
async def test_a_log_on_a_server_whose_store_is_full_is_refused_for_certain(small_server):
    async with connected(small_server.url, "contract") as client, stream_on(small_server) as other:
        (partition,) = await ensure_stream(client, f"c{uuid4().hex[:12]}")
        log = JetStreamLog(client, partition)
        await fill(other, 20_000)
        refused = Commit(str(uuid4()), 1, b"{}\n")
        with pytest.raises(LogFull):
            await log.append(refused, 0)
        await other.purge(keep=1)
        assert await log.append(refused, 0) == 1
