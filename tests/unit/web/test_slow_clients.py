"""Clients that send or read slowly are dropped: bodies, headers, bodies that nobody wants, and large answers."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from drover.service.health import Health
from drover.testing.waiting import eventually
from drover.web import bodies, large_answers
from drover.web import serve as serving
from drover.web.application import add_route, create_application
from drover.web.bodies import read_body
from drover.web.serve import serve

pytestmark = pytest.mark.req("SE-06")
SOON_S = 0.2
LONG_S = 60.0
LARGE_BYTES = 64 * 1024 * 1024
"""More than the buffers of the system take."""


class Client:
    """A connection that sends what the test says."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, *lines: str) -> None:
        self.writer.write("\r\n".join(lines).encode())

    async def ended(self) -> bytes:
        """All that the server says until it closes the connection, although the client goes on sending."""
        async with asyncio.timeout(LONG_S):
            answer = asyncio.create_task(self._heard())
            while not answer.done():
                self.writer.write(b"x")
                await asyncio.wait([answer], timeout=0.02)
            return answer.result()

    async def _heard(self) -> bytes:
        said = b""
        with suppress(ConnectionResetError):  # the server closes while something that we sent is still unread
            while piece := await self.reader.read(1024):
                said += piece
        return said


class World:
    def __init__(self) -> None:
        self.read: list[bytes] = []

    async def taking(self, request: web.Request) -> web.Response:
        self.read.append(await read_body(request))
        return web.Response(text="done")

    async def telling(self, request: web.Request) -> web.Response:
        return web.Response(body=bytes(LARGE_BYTES))

    async def refusing(self, request: web.Request) -> web.Response:
        raise web.HTTPUnauthorized


@asynccontextmanager
async def connected(world: World):
    app = create_application(Health(), body_bytes_max=1024 * 1024)
    add_route(app, "POST", "/taking", world.taking)
    add_route(app, "POST", "/refusing", world.refusing)
    add_route(app, "GET", "/telling", world.telling)
    async with serve(app, "127.0.0.1", 0, grace_s=1) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield Client(reader, writer)
        finally:
            writer.close()


def post(path: str, length: int = 1000) -> tuple[str, ...]:
    return (f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {length}", "", "")


async def test_a_body_that_trickles_in_is_dropped_after_a_while(monkeypatch):
    monkeypatch.setattr(bodies, "BODY_WITHIN_S", SOON_S)
    world, before = World(), REGISTRY.get_sample_value("drover_http_slow_bodies_total") or 0
    async with connected(world) as client:
        client.send(*post("/taking"))
        assert (await client.ended()).startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert not world.read
    assert REGISTRY.get_sample_value("drover_http_slow_bodies_total") == before + 1


@pytest.mark.control
async def test_without_the_limit_a_body_may_trickle_in_for_long(monkeypatch):
    monkeypatch.setattr(bodies, "BODY_WITHIN_S", None)
    async with connected(World()) as client:
        client.send(*post("/taking", 100_000))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5 * SOON_S):
                await client.ended()


async def test_a_body_in_two_parts_is_read():
    world = World()
    async with connected(world) as client:
        client.send(*post("/taking", 4))
        client.send("ab")
        await client.writer.drain()
        client.send("cd")
        assert (await client.reader.readline()).startswith(b"HTTP/1.1 200")
    assert world.read == [b"abcd"]


async def test_a_slow_body_that_nobody_wants_is_dropped_too(monkeypatch):
    monkeypatch.setattr(serving, "BODY_WITHIN_S", SOON_S)
    async with connected(World()) as client:
        client.send(*post("/refusing"))
        assert (await client.ended()).startswith(b"HTTP/1.1 401")


async def test_headers_that_trickle_in_end_the_connection(monkeypatch):
    monkeypatch.setattr(serving, "KEEPALIVE_S", SOON_S)
    async with connected(World()) as client:
        client.send("POST /taking HTTP/1.1", "X-Slow: ")
        assert await client.ended() == b""


async def test_a_connection_that_says_nothing_is_ended(monkeypatch):
    monkeypatch.setattr(serving, "KEEPALIVE_S", SOON_S)
    async with connected(World()) as client:
        assert await client.reader.read() == b""


def unread() -> float:
    return REGISTRY.get_sample_value("drover_http_unread_answers_total") or 0


async def test_an_answer_that_nobody_reads_is_dropped(monkeypatch):
    monkeypatch.setattr(large_answers, "ANSWER_WITHIN_S", SOON_S)
    monkeypatch.setattr(large_answers, "ANSWER_BYTES_PER_S", 1e12)
    before = unread()
    async with connected(World()) as client:
        client.send("GET /telling HTTP/1.1", "Host: x", "", "")
        await eventually(lambda: unread() == before + 1)
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await client.reader.readexactly(LARGE_BYTES)


async def test_an_answer_that_is_read_arrives_as_a_whole_and_the_connection_stays():
    before = unread()
    async with connected(World()) as client:
        for _ in range(2):
            client.send("GET /telling HTTP/1.1", "Host: x", "", "")
            head = await client.reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200") and f"Content-Length: {LARGE_BYTES}".encode() in head
            assert await client.reader.readexactly(LARGE_BYTES) == bytes(LARGE_BYTES)
    assert unread() == before
