"""The access log: one line for each request, without the values of queries."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import logging
import time
from contextlib import asynccontextmanager

import pytest
import structlog
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.service.logging import configure
from drover.testing.waiting import eventually
from drover.web.access import Access
from drover.web.access_log import AccessLog, Line, Lines
from drover.web.answers import UnloggedResponse
from drover.web.application import SOCKETS, add_handlers, add_socket, create_application
from drover.web.auth import Authenticator, Principal
from drover.web.callers import Callers
from drover.web.errors import ApiError
from drover.web.permissions import Permissions, Verb
from drover.web.route import Answer, Permission, Route, Socket, handles
from drover.web.sse import Chunk, EventStream, Streams, StreamSession

pytestmark = pytest.mark.req("SE-11")

SECRET = "s" * 32
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def route(path: str, **more) -> Route:
    return Route(method="GET", path=path, id=path, tag="test", summary="A test", answers={200: Answer(str)}, **more)


class Handlers:
    def __init__(self) -> None:
        self.streams: Streams | None = None

    @handles(route("/jobs/{id}", permission=Permission("jobs", Verb.READ)))
    async def job(self, request: web.Request, principal: Principal) -> web.Response:
        return web.Response(text="a job")

    @handles(route("/beat", caller="anybody"))
    async def beat(self, request: web.Request) -> web.Response:
        if "fail" in request.query:
            raise ApiError(429, "TOO_MANY", "Slow down")
        return UnloggedResponse(status=204)

    @handles(route("/fault", caller="anybody"))
    async def fault(self, request: web.Request) -> web.Response:
        raise RuntimeError("a fault")

    @handles(route("/stream", caller="anybody"))
    async def stream(self, request: web.Request) -> web.StreamResponse:
        async def chunks():
            yield Chunk(b"event: hello\ndata: {}\n\n", "1")

        assert self.streams is not None
        return EventStream(self.streams, StreamSession(chunks(), request.transport))


class Echo:
    async def run(self, socket: web.WebSocketResponse) -> None:
        async for _ in socket:
            pass

    async def leave(self) -> None:
        return None


async def accept(request: web.Request) -> Echo:
    return Echo()


class Server:
    def __init__(self, client: TestClient, text: io.StringIO, log: AccessLog | None) -> None:
        self.client = client
        self._text = text
        self._log = log

    def lines(self) -> list[dict]:
        if self._log is not None:
            self._log.flush()
        return [json.loads(line) for line in self._text.getvalue().splitlines()]

    async def get(self, path: str, **headers: str) -> int:
        key = issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())
        async with self.client.get(path, headers={"apikey": key, **headers}) as answer:
            await answer.read()
            return answer.status


@asynccontextmanager
async def serving(*, level="info", is_on=True, log_format="json", proxies=()):
    text = io.StringIO()
    root = logging.getLogger()
    before = root.handlers, root.level
    configure(log_format, level, stream=text)
    log = AccessLog(Callers(proxies)) if is_on else None
    app = create_application(Health(), body_bytes_max=1024, access_log=log)
    handlers = Handlers()
    handlers.streams = Streams(app[SOCKETS], "/stream")
    add_handlers(app, [handlers], Access(Authenticator([SECRET]), Permissions(), Callers()))
    add_socket(app, "/socket", accept, Socket(frame_bytes_max=1024))
    try:
        server = TestServer(app)
        await server.start_server(access_log=None)  # as `serve` does: this one is our own
        async with TestClient(server) as client:
            yield Server(client, text, log)
    finally:
        configure("json", "info", stream=io.StringIO())
        root.handlers, root.level = before
        structlog.reset_defaults()


async def test_a_request_is_one_line_that_says_who_did_what_from_where():
    async with serving() as server:
        await server.get("/jobs/7", traceparent=TRACE, **{"User-Agent": "Firefox"})
        (line,) = server.lines()
    assert line.pop("ms") >= 0
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "request",
        "method": "GET",
        "route": "/jobs/{id}",
        "path": "/jobs/7",
        "status": 200,
        "bytes": len("a job"),
        "principal": "service_role",
        "address": "127.0.0.1",
        "user_agent": "Firefox",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "level": "info",
        "logger": "drover.access",
    }


async def test_queries_have_names_and_never_values():
    token = issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())
    async with serving() as server:
        await server.get(
            f"/jobs/7?user_id=eq.kim&ticket=1799.secret-seal&apikey={token}&{token}&jobs.title=ilike.*kim*"
        )
        await server.get("/jobs/kim@example.com", **{"User-Agent": f"me {token}"})
        text = json.dumps(server.lines())
        first, second = server.lines()
    assert first["query"] == ["user_id", "ticket", "apikey", "•••", "jobs.title"]
    assert second["path"] == "/jobs/•••"
    for secret in ("eq.kim", "secret-seal", token, "ilike", "kim@example.com"):
        assert secret not in text


async def test_heartbeats_and_probes_have_no_line_but_refused_heartbeats_have():
    async with serving() as server:
        assert await server.get("/beat") == 204
        for path in ("/livez", "/readyz", "/metrics"):
            assert await server.get(path) in (200, 503)
        assert server.lines() == []
        assert await server.get("/beat?fail=1") == 429
        assert [(line["route"], line["status"]) for line in server.lines()] == [("/beat", 429)]


async def test_refusals_faults_and_unknown_paths_have_a_line():
    async with serving() as server:
        await server.get("/jobs/7", apikey="nonsense")
        await server.get("/nowhere")
        await server.get("/fault")
        lines = [line for line in server.lines() if line["logger"] == "drover.access"]
    assert [line["status"] for line in lines] == [401, 404, 500]
    assert "principal" not in lines[0]


async def test_a_socket_has_a_line_when_it_opens_and_one_when_it_ends():
    async with serving() as server:
        async with server.client.ws_connect("/socket") as socket:
            (opened,) = server.lines()
            await socket.close(code=1000)
        await eventually(lambda: len(server.lines()) == 2)
        ended = server.lines()[1]
    assert (opened["event"], opened["status"]) == ("socket_opened", 101)
    assert (ended["event"], ended["status"], ended["address"]) == ("socket_ended", 1000, "127.0.0.1")
    assert opened["trace_id"] == ended["trace_id"]


async def test_a_socket_that_is_refused_has_the_line_of_a_request():
    async with serving() as server:
        assert await server.get("/socket") == 426
        assert [(line["event"], line["status"]) for line in server.lines()] == [("request", 426)]


async def test_a_stream_has_a_line_when_it_opens_and_one_when_it_ends():
    async with serving() as server:
        assert await server.get("/stream") == 200
        await eventually(lambda: len(server.lines()) == 2)
        opened, ended = server.lines()
    assert (opened["event"], ended["event"]) == ("stream_opened", "stream_ended")
    assert ended["bytes"] > 0
    assert ended["address"] == "127.0.0.1"


async def test_behind_a_trusted_proxy_the_address_is_the_callers():
    async with serving(proxies=("127.0.0.0/8",)) as server:
        await server.get("/jobs/7", **{"X-Forwarded-For": "203.0.113.9"})
        assert server.lines()[0]["address"] == "203.0.113.9"
    async with serving() as server:
        await server.get("/jobs/7", **{"X-Forwarded-For": "203.0.113.9"})
        assert server.lines()[0]["address"] == "127.0.0.1", "nobody else can claim an address"


@pytest.mark.parametrize("how", [{"is_on": False}, {"level": "warning"}], ids=["off", "level"])
async def test_it_can_be_turned_off(how):
    async with serving(**how) as server:
        assert await server.get("/jobs/7") == 200
        assert server.lines() == []


async def test_in_the_console_format_it_is_a_line_for_people():
    async with serving(log_format="console") as server:
        await server.get("/jobs/7?user_id=eq.kim")
        text = server._text.getvalue()
    assert "route=/jobs/{id}" in text
    assert "principal=service_role" in text
    assert "eq.kim" not in text


async def test_lines_are_written_by_themselves_soon_after():
    async with serving() as server:
        await server.get("/jobs/7")
        await eventually(lambda: server._text.getvalue().count("\n") == 1)


async def test_while_the_disk_is_full_lines_are_lost_and_the_next_ones_are_written():
    class Full(io.StringIO):
        is_full = True

        def write(self, text: str) -> int:
            if self.is_full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(text)

    lines, disk = Lines(), Full()
    lines.add(disk, Line(event="request", method="GET", route="/a", path="/a", status=200, ms=1.0))
    lines.flush()
    disk.is_full = False
    lines.add(disk, Line(event="request", method="GET", route="/b", path="/b", status=200, ms=1.0))
    lines.flush()
    (written,) = disk.getvalue().splitlines()
    assert json.loads(written)["path"] == "/b"


async def test_a_user_agent_that_is_not_utf8_has_a_line_and_its_request_an_answer():
    async with serving() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.client.port)
        writer.write(b"GET /nowhere HTTP/1.1\r\nHost: here\r\nUser-Agent: \xff curl\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
        (line,) = server.lines()
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert (line["status"], line["user_agent"]) == (404, "? curl")
