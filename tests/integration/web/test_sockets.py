"""WebSockets behind the edge, on a real port: before the upgrade, in between, and when the server stops."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import WSMsgType, web

from drover.service.health import Health
from drover.testing.waiting import eventually
from drover.web.application import SOCKETS, add_socket, create_application
from drover.web.errors import ApiError
from drover.web.route import Socket
from drover.web.serve import serve

GRACE_S = 2.0


class Echo:
    """Says everything back until it is told to leave; at the word `fail` it breaks. Polite, it leaves at `amen`."""

    def __init__(self, polite: bool = True) -> None:
        self._polite = polite
        self._amen = asyncio.Event()
        self._socket: web.WebSocketResponse | None = None

    async def run(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        while (message := await socket.receive()).type is WSMsgType.TEXT:
            if message.data == "fail":
                raise ValueError("broken")
            if message.data == "end":
                return
            await socket.send_str(message.data)
            if message.data == "amen":
                self._amen.set()

    async def leave(self) -> None:
        if not self._polite:
            await asyncio.Event().wait()
        assert self._socket is not None
        await self._socket.send_str("bye")
        await self._amen.wait()
        await self._socket.close(code=1012)


class World:
    """One served application with a socket at `/echo`."""

    polite = True
    refusal: Exception | None = None

    def __init__(self) -> None:
        self.app = create_application(Health(), body_bytes_max=1024)
        add_socket(self.app, "/echo", self.accept, Socket(frame_bytes_max=1024))
        self.serving = serve(self.app, "127.0.0.1", 0, grace_s=GRACE_S)
        self.stopped = False

    async def accept(self, request: web.Request) -> Echo:
        if self.refusal is not None:
            raise self.refusal
        return Echo(self.polite)

    async def stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            await self.serving.__aexit__(None, None, None)

    async def metric(self, line: str) -> float:
        async with self.session.get("/metrics") as answer:
            text = await answer.text()
        return sum(float(found.split()[-1]) for found in text.splitlines() if found.startswith(line))


@pytest.fixture
async def world():
    world = World()
    port = await world.serving.__aenter__()
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            world.session = session
            yield world
    finally:
        await world.stop()


async def test_what_is_said_is_heard(world):
    async with world.session.ws_connect("/echo") as socket:
        await socket.send_str("hello")
        assert await socket.receive_str() == "hello"
        await socket.send_str("end")
        assert (await socket.receive()).type is WSMsgType.CLOSE
        assert socket.close_code == 1000


@pytest.mark.parametrize(
    ("refusal", "status", "code"),
    [
        (ApiError(401, "UNAUTHORIZED", "Invalid API key"), 401, "UNAUTHORIZED"),
        (ApiError(403, "42501", "permission denied"), 403, "42501"),
        (ValueError("a secret"), 500, "INTERNAL"),
    ],
)
async def test_what_is_refused_before_the_upgrade_is_json(world, refusal, status, code):
    world.refusal = refusal
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "MTIzNDU2Nzg5MDEyMzQ1Ng==",
    }
    async with world.session.get("/echo", headers=upgrade) as answer:
        assert (answer.status, (await answer.json())["code"]) == (status, code)
        assert "secret" not in await answer.text()
    assert len(world.app[SOCKETS]) == 0


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Upgrade": "h2c", "Connection": "Upgrade"},
        {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "é"},
        {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "99"},
    ],
)
async def test_a_request_that_is_none_for_a_socket_is_told_so(world, headers):
    async with world.session.get("/echo", headers=headers) as answer:
        assert (answer.status, (await answer.json())["code"]) == (426, "UPGRADE_REQUIRED")
    async with world.session.post("/echo") as answer:
        assert answer.status == 405


async def test_open_sockets_are_counted_and_only_the_way_to_the_upgrade_is_timed(world):
    gauge, requests = 'drover_sockets_open{route="/echo"}', 'drover_http_requests_total{method="GET",route="/echo"'
    seconds = 'drover_http_request_duration_seconds_sum{method="GET",route="/echo"}'
    before = await world.metric(requests)
    async with world.session.ws_connect("/echo"), world.session.ws_connect("/echo"):
        await eventually(lambda: len(world.app[SOCKETS]) == 2)
        assert await world.metric(gauge) == 2
        assert await world.metric(requests) == before + 2
        timed = await world.metric(seconds)
    await eventually(lambda: len(world.app[SOCKETS]) == 0)
    assert await world.metric(gauge) == 0
    assert (await world.metric(requests), await world.metric(seconds)) == (before + 2, timed)


async def test_a_session_that_breaks_closes_its_socket_and_no_other(world):
    async with world.session.ws_connect("/echo") as other, world.session.ws_connect("/echo") as socket:
        await socket.send_str("fail")
        assert (await socket.receive()).type is WSMsgType.CLOSE
        assert socket.close_code == 1011
        await other.send_str("still here")
        assert await other.receive_str() == "still here"


async def test_a_frame_that_is_too_big_closes_the_socket(world):
    async with world.session.ws_connect("/echo") as socket:
        await socket.send_str("x" * 2000)
        assert (await socket.receive()).type is WSMsgType.CLOSE
        assert socket.close_code == 1009


async def test_a_stop_says_goodbye_on_every_socket_hears_the_answer_and_then_is_over(world):
    sockets = [await world.session.ws_connect("/echo") for _ in range(5)]
    await eventually(lambda: len(world.app[SOCKETS]) == 5)
    stopping = asyncio.create_task(world.stop())
    for socket in sockets:
        assert await socket.receive_str() == "bye"
        await socket.send_str("amen")
        assert await socket.receive_str() == "amen"
        assert (await socket.receive()).type is WSMsgType.CLOSE
        assert socket.close_code == 1012
    await stopping
    assert len(world.app[SOCKETS]) == 0


async def test_a_session_that_does_not_leave_is_cut_within_the_grace(world):
    world.polite = False
    socket = await world.session.ws_connect("/echo")
    await eventually(lambda: len(world.app[SOCKETS]) == 1)
    started = asyncio.get_running_loop().time()
    stopping = asyncio.create_task(world.stop())
    assert (await socket.receive()).type in (WSMsgType.CLOSED, WSMsgType.CLOSE, WSMsgType.ERROR)
    await stopping
    assert asyncio.get_running_loop().time() - started < GRACE_S
    assert len(world.app[SOCKETS]) == 0
