"""Connections in memory behave like TCP on loopback, as far as NATS clients and the faulty line need."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from drover.testing.faults import faulty_line
from drover.testing.simulated_network import SimulatedLoop


@asynccontextmanager
async def serving(on_client):
    server = await asyncio.start_server(on_client, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def echo(reader, writer):
    while data := await reader.read(1000):
        writer.write(data)
    writer.close()


async def test_what_is_sent_comes_back_in_order():
    async with serving(echo) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in range(100):
            writer.write(b"%d\n" % number)
        assert [int(await reader.readline()) for _ in range(100)] == list(range(100))
        writer.close()


async def test_a_port_where_nobody_listens_refuses(closed_port):
    with pytest.raises(ConnectionRefusedError, match="Connect"):
        await asyncio.open_connection("127.0.0.1", closed_port)


async def test_a_listener_that_closed_refuses_and_leaves_open_connections_alone():
    async with serving(echo) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"1")
        assert await reader.read(1) == b"1"
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"2")
    assert await reader.read(1) == b"2"
    writer.close()


@pytest.mark.parametrize("end", ["close", "abort"])
async def test_the_other_end_reads_what_was_sent_and_then_the_end(end):
    async def say_goodbye(reader, writer):
        writer.write(b"goodbye")
        await writer.drain()
        getattr(writer.transport, end)()

    async with serving(say_goodbye) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b"goodbye"
        assert reader.at_eof()
        writer.close()


async def test_a_connection_that_we_closed_gives_nothing_more():
    async with serving(echo) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"too late")
        writer.close()
        await writer.wait_closed()
        assert await reader.read() == b""


async def test_a_reader_that_falls_behind_loses_nothing():
    size = 1_000_000

    async def flood(reader, writer):
        writer.write(b"x" * (size // 2))
        writer.write(b"y" * (size // 2))
        await writer.drain()
        writer.close()

    async with serving(flood) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=100)
        data = await reader.readexactly(size)
        assert (data.count(b"x"), data.count(b"y")) == (size // 2, size // 2)
        writer.close()


async def test_a_line_that_is_held_passes_nothing_until_it_is_resumed():
    async with serving(echo) as port, faulty_line("127.0.0.1", port) as line:
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        line.hold()
        writer.write(b"held")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(4), 0.2)
        line.resume()
        assert await reader.read(4) == b"held"
        writer.close()


@pytest.mark.asyncio(loop_factories=["simulated"])
async def test_with_a_latency_data_takes_its_time_and_keeps_its_order():
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedLoop)
    async with serving(echo) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        began_s = loop.time()
        loop.latency_s = iter([0.5, 0.1, 0.25, 0.0]).__next__
        writer.write(b"1")
        writer.write(b"2")
        assert await reader.readexactly(2) == b"12"
        assert loop.time() - began_s == pytest.approx(0.75)
        loop.latency_s = None
        writer.close()
