"""Calls to addresses that others have named."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from drover.outbound import http
from drover.outbound.http import ANSWER_BYTES_MAX, CheckedResolver, NoAnswer, NotCalled, Outbound


@asynccontextmanager
async def server(handler):
    """A server on this machine; gives its port."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def outbound(**options):
    calls = Outbound(**{"timeout_s": 5.0, "allow_private": True, **options})
    async with calls.running():
        yield calls


@pytest.mark.req("RM-11")
async def test_an_answer_comes_back_with_its_status_headers_and_body():
    async def handler(request):
        return web.Response(status=418, text=await request.text() + request.headers["X-Test"], headers={"X-Back": "1"})

    async with server(handler) as port, outbound() as calls:
        answer = await calls.post(f"http://127.0.0.1:{port}/x", b"body ", {"X-Test": "head"})
    assert (answer.status, answer.body, answer.headers["X-Back"]) == (418, b"body head", "1")


@pytest.mark.req("RM-11")
async def test_a_redirect_is_an_answer_and_is_not_followed():
    seen = []

    async def handler(request):
        seen.append(request.path)
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    async with server(handler) as port, outbound() as calls:
        assert (await calls.post(f"http://127.0.0.1:{port}/here", b"", {})).status == 302
    assert seen == ["/here"]


async def test_of_a_long_answer_only_the_beginning_is_read():
    async def handler(request):
        return web.Response(body=b"x" * (4 * ANSWER_BYTES_MAX))

    async with server(handler) as port, outbound() as calls:
        assert len((await calls.post(f"http://127.0.0.1:{port}/", b"", {})).body) == ANSWER_BYTES_MAX


async def test_a_packed_answer_stays_packed():
    async def handler(request):
        response = web.Response(body=b"a" * 10_000)
        response.enable_compression(web.ContentCoding.gzip)
        return response

    async with server(handler) as port, outbound() as calls:
        answer = await calls.post(f"http://127.0.0.1:{port}/", b"", {"Accept-Encoding": "gzip"})
    assert answer.body[:2] == b"\x1f\x8b"


@pytest.mark.req("RM-11")
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://[::1]:1/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:127.0.0.1]:1/",
        "http://0.0.0.0:1/",
    ],
)
async def test_an_address_of_another_network_is_refused_before_anything_is_sent(url):
    async with outbound(allow_private=False) as calls:
        with pytest.raises(NotCalled) as caught:
            await calls.post(url, b"", {})
    assert (caught.value.code, caught.value.permanent) == ("address_refused", True)


@pytest.mark.req("RM-11")
async def test_a_name_that_leads_to_this_machine_is_refused():
    seen = []

    async def handler(request):
        seen.append(request)
        return web.Response()

    async with server(handler) as port, outbound(allow_private=False) as calls:
        with pytest.raises(NotCalled) as caught:
            await calls.post(f"http://localhost:{port}/", b"", {})
    assert (caught.value.code, caught.value.permanent) == ("address_refused", True)
    assert seen == []


@pytest.mark.req("RM-11")
async def test_of_the_addresses_of_a_name_only_public_ones_are_used(monkeypatch):
    answers = [[("8.8.8.8", 80), ("10.0.0.1", 80)], [("127.0.0.1", 80)]]

    async def getaddrinfo(host, port, **how):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in answers.pop(0)]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo, raising=False)
    found = await CheckedResolver(allow_private=False).resolve("rebound.example", 80)
    assert [one["host"] for one in found] == ["8.8.8.8"]
    assert found[0]["flags"] == socket.AI_NUMERICHOST
    with pytest.raises(http.AddressRefused):
        await CheckedResolver(allow_private=False).resolve("rebound.example", 80)


@pytest.mark.req("RM-11")
async def test_the_name_is_asked_for_once_and_what_was_checked_is_connected_to(monkeypatch):
    """A name that answers with a good address first and a bad one then gets nothing by it."""
    asked, reached = [], []

    async def handler(request):
        reached.append(request.transport.get_extra_info("sockname")[0])
        return web.Response()

    async def getaddrinfo(host, port, **how):
        asked.append(host)
        address = "127.0.0.2" if asked[1:] else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    async with server(handler) as port, outbound(allow_private=False) as calls:
        # The server is on this machine, so one of its addresses stands for a public one here.
        monkeypatch.setattr(http, "is_public", lambda address: str(address) == "127.0.0.1")
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo, raising=False)
        assert (await calls.post(f"http://rebound.example:{port}/", b"", {})).status == 200
    assert (asked, reached) == (["rebound.example"], ["127.0.0.1"])


@pytest.mark.parametrize("url", ["ftp://example.com/", "file:///etc/passwd", "http://", "nonsense", "http://[bad/"])
async def test_what_is_no_web_address_is_not_called(url):
    async with outbound() as calls:
        with pytest.raises(NotCalled) as caught:
            await calls.post(url, b"", {})
    assert caught.value.permanent


@pytest.mark.req("RM-07")
async def test_nobody_there_is_a_failure_that_may_pass(closed_port):
    async with outbound() as calls:
        with pytest.raises(NotCalled) as caught:
            await calls.post(f"http://127.0.0.1:{closed_port}/", b"", {})
    assert (caught.value.code, caught.value.permanent) == ("connect_failed", False)


@pytest.mark.req("RM-07")
async def test_a_name_that_nobody_knows_is_a_failure_that_may_pass():
    async with outbound() as calls:
        with pytest.raises(NotCalled) as caught:
            await calls.post("http://nobody.invalid/", b"", {})
    assert not caught.value.permanent


@pytest.mark.req("RM-07")
async def test_what_did_not_even_leave_in_time_is_no_doubt_but_a_failure(monkeypatch):
    async def resolve(self, host, port=0, family=socket.AF_UNSPEC):
        await asyncio.sleep(30)

    monkeypatch.setattr(CheckedResolver, "resolve", resolve)
    async with outbound(timeout_s=0.1) as calls:
        with pytest.raises(NotCalled) as caught:
            await calls.post("http://slow.example/", b"body", {})
    assert (caught.value.code, caught.value.permanent) == ("timed_out", False)


@pytest.mark.req("RM-07")
async def test_an_answer_that_does_not_come_leaves_us_in_doubt():
    async def handler(request):
        await asyncio.sleep(30)

    async with server(handler) as port, outbound(timeout_s=0.2) as calls:
        with pytest.raises(NoAnswer) as caught:
            await calls.post(f"http://127.0.0.1:{port}/", b"body", {})
    assert caught.value.code == "timed_out"


@pytest.mark.req("RM-07")
async def test_a_connection_that_breaks_after_the_request_leaves_us_in_doubt():
    async def handler(request):
        request.transport.abort()
        return web.Response()

    async with server(handler) as port, outbound() as calls:
        with pytest.raises(NoAnswer) as caught:
            await calls.post(f"http://127.0.0.1:{port}/", b"body", {})
    assert caught.value.code == "connection_lost"


@pytest.mark.req("RM-07")
async def test_a_status_holds_even_if_its_body_never_ends():
    async def handler(request):
        response = web.StreamResponse(status=200)
        await response.prepare(request)
        await response.write(b'{"id"')
        await asyncio.sleep(30)

    async with server(handler) as port, outbound(timeout_s=0.3) as calls:
        answer = await calls.post(f"http://127.0.0.1:{port}/", b"", {})
    assert (answer.status, answer.body) == (200, b'{"id"')
