"""The key is in the query of a WebSocket: whatever happens to the request, no line of the log has it."""

from __future__ import annotations

import asyncio
import io
import logging

import aiohttp
import pytest
import structlog

from drover.api.realtime.session import Session
from drover.api.realtime.sockets import PATH
from drover.service.logging import configure
from drover.testing.waiting import eventually
from tests.unit.api.realtime.client import key_of
from tests.unit.api.realtime.test_sockets import UPGRADE, desk_on

KEY = key_of()
QUERY = f"apikey={KEY}&vsn=2.0.0"
MASK = "•••"


@pytest.fixture
def log():
    stream = io.StringIO()
    root, server = logging.getLogger(), logging.getLogger("aiohttp.server")
    before = root.handlers, root.level, server.level
    configure("json", "debug", stream=stream)
    yield stream
    root.handlers, root.level, server.level = before
    structlog.reset_defaults()


@pytest.fixture
async def desk(log):
    async with desk_on() as made:
        yield made


async def answer_to(desk, head: str, *headers: str) -> bytes:
    """Send a request as it is; the first line of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(desk.url.rpartition(":")[2]))
    try:
        writer.write("\r\n".join([head, "Host: x", *headers, "", ""]).encode())
        return await reader.readline()
    finally:
        writer.close()


def assert_nothing_of_the_key(log):
    text = log.getvalue()
    for part in (*KEY.split("."), "apikey", MASK):
        assert part not in text, text


@pytest.mark.req("DI-08")
@pytest.mark.parametrize(
    ("head", "status"),
    [
        (f"GET {PATH}?{QUERY} HTTP/1.1", b"426"),
        (f"GET {PATH}?apikey={KEY}&vsn=9 HTTP/1.1", b"426"),
        (f"GET {PATH}?apikey={KEY[:-3]}&vsn=2.0.0 HTTP/1.1", b"426"),
        (f"POST {PATH}?{QUERY} HTTP/1.1", b"405"),
        (f"GET {PATH}/nothing?{QUERY} HTTP/1.1", b"404"),
        (f"GET {PATH}?{QUERY} HTTP/9.9", b"400"),
        (f"GET {PATH}?{QUERY} and more HTTP/1.1", b"400"),
        (f"G(T {PATH}?{QUERY} HTTP/1.1", b"400"),
        (f"GET {PATH}?{QUERY}&x={'x' * 40_000} HTTP/1.1", b"400"),
    ],
)
async def test_a_request_that_is_refused_leaves_no_key_in_the_log(desk, log, head, status):
    assert (await answer_to(desk, head)).split()[1] == status
    assert_nothing_of_the_key(log)


@pytest.mark.req("DI-08")
async def test_a_socket_that_is_refused_or_fails_leaves_no_key_in_the_log(desk, log, monkeypatch):
    upgrade = [f"{name}: {value}" for name, value in UPGRADE.items()]
    assert (await answer_to(desk, f"GET {PATH}?apikey={KEY}&vsn=9 HTTP/1.1", *upgrade)).split()[1] == b"400"
    assert (await answer_to(desk, f"GET {PATH}?apikey={KEY[:-3]} HTTP/1.1", *upgrade)).split()[1] == b"401"

    def fail(session: Session, data: str) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(Session, "receive", fail)
    async with desk.http.ws_connect(f"{desk.url}{PATH}?{QUERY}") as ws:
        await ws.send_str("[]")
        assert (await ws.receive()).type is aiohttp.WSMsgType.CLOSE
    await eventually(lambda: "socket_failed" in log.getvalue())
    assert_nothing_of_the_key(log)


@pytest.mark.control
async def test_control_with_an_access_log_the_key_would_be_in_it(desk, log):
    structlog.stdlib.get_logger("test").info("request", path=f"{PATH}?{QUERY}")
    with pytest.raises(AssertionError):
        assert_nothing_of_the_key(log)
