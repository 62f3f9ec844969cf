"""Servers that restart, connections that break, and disks that are full."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from nats.errors import ConnectionClosedError, NoRespondersError, OutboundBufferLimitError

from drover.bus.connection import connected
from drover.embedded.nats import nats_server
from drover.testing.simulated_nats.server import SimulatedNats
from drover.testing.waiting import eventually
from tests.contract.nats.conftest import Inbox, Stream, is_simulated, line_to, restarted, settled, stream_on
from tests.contract.nats.test_consumers import Reader
from tests.small_disk import fill, small_disk


async def test_a_restart_keeps_streams_messages_and_the_ids_of_messages(own_server):
    async with stream_on(own_server, deny_purge=True) as stream:
        await stream.put("a", "one", after=0, Nats_Msg_Id="x")
        await stream.put("b", "two", after=0)
        await restarted(own_server, stream.client)
        assert (await stream.last("a")).text == "one"
        assert (await stream.api("STREAM.INFO"))["config"]["deny_purge"]
        again = await stream.request(stream.subject("a"), b"one", {"Nats-Msg-Id": "x"})
        assert (again["seq"], again["duplicate"]) == (1, True)
        assert await stream.put("a", after=1) == 3


async def test_a_restart_ends_consumers_in_memory(own_server):
    async with stream_on(own_server) as stream:
        inbox = Inbox(stream.client)
        await stream.client.subscribe(inbox.subject, cb=inbox.on_message)
        reader = Reader(stream, inbox)
        await reader.start()
        await restarted(own_server, stream.client)
        await reader.pull()
        assert (await reader.status())["Status"] == "503"


async def test_a_client_subscribes_again_after_a_restart(own_server):
    async with connected(own_server.url, "one") as one:
        inbox = Inbox(one)
        await one.subscribe(inbox.subject, cb=inbox.on_message)
        await settled(one)
        await restarted(own_server, one)
        await one.publish(inbox.subject, b"hello again")
        assert (await inbox.has(1))[0].data == b"hello again"


async def test_while_the_server_is_down_requests_fail_and_nothing_is_sent_later(own_server):
    async with stream_on(own_server) as stream:
        await own_server.stop()
        await eventually(lambda: not stream.client.is_connected)
        with pytest.raises(OutboundBufferLimitError):
            await stream.client.request(stream.subject("a"), b"", timeout=1)
        await own_server.start()
        await eventually(lambda: stream.client.is_connected)
        assert (await stream.state())["messages"] == 0


async def test_a_message_whose_acknowledgement_is_lost_with_the_connection_is_stored(server):
    async with stream_on(server) as direct, line_to(server) as (line, client):
        stream = Stream(client, direct.name)
        await stream.state()
        line.cut_from_server = lambda data: 0 if b'"seq":1' in data else None
        with pytest.raises((TimeoutError, ConnectionClosedError)):
            await client.request(stream.subject("a"), b"stored", timeout=0.5)
        assert line.cuts == 1
        assert (await direct.last("a")).text == "stored"


@pytest.mark.parametrize("passing", [0, 0.5, 0.99])
async def test_a_message_that_is_lost_or_torn_with_the_connection_is_not_stored(server, passing):
    async with stream_on(server) as direct, line_to(server) as (line, client):
        line.cut_to_server = lambda data: int(len(data) * passing) if b"lost" in data else None
        with pytest.raises((TimeoutError, ConnectionClosedError)):
            await client.request(direct.subject("a"), b"lost", timeout=0.5)
        assert (await direct.state())["messages"] == 0


async def test_a_message_that_is_held_on_its_way_may_be_stored_after_its_sender_gave_up(server):
    async with stream_on(server) as direct, line_to(server) as (line, client):
        line.hold()
        with pytest.raises(TimeoutError):
            await client.request(direct.subject("a"), b"late", timeout=0.2)
        assert (await direct.state())["messages"] == 0
        line.resume()

        async def stored():
            return (await direct.state())["messages"]

        assert await eventually(stored) == 1


async def test_a_client_whose_line_is_held_drops_the_connection_and_finds_the_server_again(server):
    async with line_to(server) as (line, client):
        line.hold()
        await eventually(lambda: not client.is_connected)
        line.resume()
        await eventually(lambda: client.is_connected)
        with pytest.raises(NoRespondersError):
            await client.request("nobody", b"", timeout=5)


async def test_a_slow_line_delays_an_answer_and_loses_nothing(server):
    async with stream_on(server) as direct, line_to(server) as (line, client):
        loop = asyncio.get_running_loop()
        line.delay_s = 0.1
        began = loop.time()
        assert await Stream(client, direct.name).put("a") == 1
        assert loop.time() - began >= 0.2


class Disk:
    """The disk of a server, which a test can fill."""

    def __init__(self, server, place=None):
        self.server = server
        self._place = place
        self._filler = None

    def fill(self):
        if self._place is None:
            self.server.store.is_full = True
        else:
            self._filler = fill(self._place)

    def free(self):
        if self._place is None:
            self.server.store.is_full = False
        else:
            self._filler.unlink()


@asynccontextmanager
async def with_small_disk(tmp_path):
    if is_simulated():
        async with SimulatedNats(asyncio.get_running_loop()).running() as server:
            yield Disk(server)
    else:
        with small_disk(tmp_path / "disk", "40m") as place:
            async with nats_server(place / "data") as server:
                yield Disk(server, place)


@pytest.mark.req("YR-12")
async def test_a_full_disk_answers_no_publish_and_after_there_is_room_again_only_a_restart_helps(tmp_path):
    async def unanswered(stream):
        with pytest.raises(TimeoutError):
            await stream.client.request(stream.subject("a"), bytes(20_000), timeout=1)

    async with with_small_disk(tmp_path) as disk, stream_on(disk.server) as stream:
        await stream.put("a", "before", after=0)
        disk.fill()
        await unanswered(stream)
        assert (await stream.last("a")).text == "before", "reads go on"
        disk.free()
        await unanswered(stream)
        await restarted(disk.server, stream.client)
        assert (await stream.last("a")).text == "before"
        assert await stream.put("a", "after", after=1) == 2
