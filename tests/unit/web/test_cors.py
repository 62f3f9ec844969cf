"""Which pages of other origins may read answers and open sockets, as a browser would ask."""

from __future__ import annotations

from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from drover.service.config import ConfigurationError
from drover.service.health import Health
from drover.web.application import add_route, add_socket, create_application
from drover.web.cors import ALLOWED, EXPOSED, Cors
from drover.web.errors import ApiError
from drover.web.ratelimit import Limited
from drover.web.route import Socket
from drover.web.same_origin import HEADER
from tests.settings import load

pytestmark = pytest.mark.req("SE-14")
APP, OTHER = "https://app.example.com", "https://other.example.com"
SETTINGS = {"DROVER_NATS_URL": "nats://n", "DROVER_POSTGRES_URL": "postgresql://p"}
WANTED = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "apikey,content-type"}


class Hello:
    async def run(self, socket: web.WebSocketResponse) -> None:
        await socket.send_str("hello")

    async def leave(self) -> None:
        raise AssertionError


async def fine(request):
    return web.Response(text="fine", headers={"Vary": "Accept-Encoding"})


async def keep(request):
    return web.Response(text="a film", headers={"Cache-Control": "private, max-age=600"})


async def refuse(request):
    raise ApiError(401, "WHO", "Who is it?")


async def limit(request):
    raise Limited(3, "anon")


async def fail(request):
    raise RuntimeError("a bug")


async def stream(request):
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"data: 1\n\n")
    return response


async def accept(request):
    return Hello()


ROUTES = {
    "/rest/v1/devices": fine,
    "/auth/v1/user": fine,
    "/api/jobs": fine,
    "/api/film": keep,
    "/api/401": refuse,
    "/api/429": limit,
    "/api/500": fail,
    "/api/stream": stream,
    "/api/auth/refresh": fine,
    "/assets/page.js": fine,
}


@asynccontextmanager
async def serving(*origins: str):
    app = create_application(Health(), body_bytes_max=1024, cors=Cors(origins))
    for path, handler in ROUTES.items():
        add_route(app, "GET", path, handler)
    add_route(app, "*", "/rest/v1/{relation}", refuse)
    add_socket(app, "/realtime/v1/websocket", accept, Socket(frame_bytes_max=1024))
    async with TestClient(TestServer(app)) as client:
        yield client


@pytest.fixture
async def client():
    async with serving(APP, "http://localhost:3000") as client:
        yield client


def cors_of(answer) -> set[str]:
    return {name.lower() for name in answer.headers if name.lower().startswith("access-control-")}


def words(answer, name: str) -> set[str]:
    return {word.strip().lower() for value in answer.headers.getall(name, []) for word in value.split(",")}


@pytest.mark.parametrize("path", ["/rest/v1/devices", "/rest/v1/unknown", "/auth/v1/user", "/api/jobs", "/api/nowhere"])
async def test_a_listed_page_is_told_before_it_calls_what_it_may_send(client, path):
    answer = await client.options(path, headers={"Origin": APP} | WANTED)
    assert answer.status == 204
    assert answer.headers["Access-Control-Allow-Origin"] == APP
    assert {"get", "post", "patch", "put", "delete"} <= words(answer, "Access-Control-Allow-Methods")
    supabase = "apikey, authorization, prefer, content-profile, accept-profile, x-client-info, content-type, range"
    ours = "idempotency-key, traceparent, drover-min-position, last-event-id"
    assert {*f"{supabase}, {ours}".split(", ")} <= words(answer, "Access-Control-Allow-Headers")
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert "origin" in words(answer, "Vary")


async def test_a_page_cannot_send_what_only_proxies_and_our_own_pages_send():
    assert not {HEADER.lower(), "x-forwarded-for", "x-forwarded-proto", "cookie"} & {name.lower() for name in ALLOWED}
    assert "*" not in (*ALLOWED, *EXPOSED)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/jobs", 200),
        ("/api/stream", 200),
        ("/api/401", 401),
        ("/api/429", 429),
        ("/api/500", 500),
        ("/api/x", 404),
    ],
)
async def test_a_listed_page_reads_every_answer_also_errors_and_streams(client, path, status):
    answer = await client.get(path, headers={"Origin": APP})
    assert answer.status == status
    assert answer.headers.getall("Access-Control-Allow-Origin") == [APP]
    assert {"content-range", "drover-position", "retry-after"} <= words(answer, "Access-Control-Expose-Headers")
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert "origin" in words(answer, "Vary")


async def test_what_an_answer_varied_by_before_is_kept(client):
    answer = await client.get("/api/jobs", headers={"Origin": APP})
    assert words(answer, "Vary") == {"accept-encoding", "origin"}


@pytest.mark.parametrize("origin", [OTHER, "null", "", "http://app.example.com", f"{APP}:8443", f"{APP}.evil.com", "*"])
async def test_another_page_gets_no_permission(client, origin):
    for answer in (
        await client.options("/api/jobs", headers={"Origin": origin} | WANTED),
        await client.get("/api/jobs", headers={"Origin": origin}),
    ):
        assert cors_of(answer) == set()
        assert "origin" in words(answer, "Vary"), "or a cache could give this answer to a listed page"


@pytest.mark.parametrize("path", ["/api/auth/refresh", "/api/auth", "/api/%61uth/refresh", "/assets/page.js", "/livez"])
async def test_routes_with_a_cookie_and_pages_of_our_own_are_for_no_other_origin(client, path):
    for answer in (
        await client.options(path, headers={"Origin": APP} | WANTED),
        await client.get(path, headers={"Origin": APP}),
    ):
        assert cors_of(answer) == set()


async def test_who_is_no_browser_notices_nothing(client):
    answer = await client.get("/api/jobs")
    assert cors_of(answer) == set()
    assert words(answer, "Vary") == {"accept-encoding"}


async def test_an_answer_that_browsers_keep_says_that_it_depends_on_the_origin_also_without_one(client):
    answer = await client.get("/api/film")
    assert cors_of(answer) == set()
    assert "origin" in words(answer, "Vary"), "or a page that shows a film could not fetch it afterwards"


async def test_without_a_list_no_answer_is_looked_at_and_no_page_is_permitted():
    async with serving() as client:
        assert not client.app.on_response_prepare
        answer = await client.options("/api/jobs", headers={"Origin": APP} | WANTED)
        assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
        assert cors_of(answer) == set()
        assert (await client.options("/api/nowhere", headers={"Origin": APP} | WANTED)).status == 404


async def test_a_question_that_is_no_preflight_is_answered_as_before(client):
    assert (await client.options("/api/jobs", headers={"Origin": APP})).status == 405
    assert (await client.options("/api/jobs")).status == 405


async def connect(client, origin: str | None, **headers: str) -> int:
    asked = headers if origin is None else {"Origin": origin, **headers}
    try:
        async with client.ws_connect("/realtime/v1/websocket", headers=asked) as ws:
            assert await ws.receive_str() == "hello"
            return 101
    except aiohttp.WSServerHandshakeError as error:
        return error.status


async def test_a_socket_is_for_callers_without_an_origin_for_our_own_pages_and_for_listed_ones(client):
    own = f"{client.host}:{client.port}"
    for origin in (
        None,
        APP,
        "HTTPS://APP.example.com:443",
        "http://localhost:3000",
        f"http://{own}",
        f"https://{own}",
    ):
        assert await connect(client, origin) == 101, origin
    assert await connect(client, "https://farm.example.com", Host="farm.example.com:443") == 101
    for origin in (OTHER, "null", "", f"http://{client.host}", "http://[", f"{APP}.evil.com", own):
        assert await connect(client, origin) == 403, origin


async def test_a_refused_socket_says_which_setting_lets_it_in():
    async with serving() as client:
        headers = {
            "Origin": APP,
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
        }
        answer = await client.get("/realtime/v1/websocket", headers=headers)
        body = await answer.json()
        assert (answer.status, body["code"]) == (403, "ORIGIN_NOT_ALLOWED")
        assert "DROVER_CORS_ORIGINS" in body["hint"]


def test_origins_are_a_list_without_stars_and_paths():
    origins = load(SETTINGS | {"DROVER_CORS_ORIGINS": f"{APP}, http://[::1]:3000"}).cors_origins
    assert origins == (APP, "http://[::1]:3000")
    assert load(SETTINGS).cors_origins == ()
    for wrong in ("*", "https://*.example.com", "app.example.com", f"{APP}/", f"{APP}/path", "null", "https://a b"):
        with pytest.raises(ConfigurationError, match="DROVER_CORS_ORIGINS"):
            load(SETTINGS | {"DROVER_CORS_ORIGINS": wrong})
