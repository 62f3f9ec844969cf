"""What requests record in the audit, and what happens if it cannot be recorded."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from structlog.testing import capture_logs

from drover.bus.audit import Access as Recorded
from drover.bus.audit import NotRecorded
from drover.domain.identity.audit import AccessKind
from drover.projection.positions import POSITION_HEADER
from drover.service.api_keys import Role
from drover.service.health import Health
from drover.testing.waiting import eventually
from drover.web import audit as auditing
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.audit import HOUR_S, Audit, note_sign_in
from drover.web.auth import Authenticator, Principal
from drover.web.callers import Callers
from drover.web.errors import ApiError
from drover.web.permissions import Permissions, Verb
from drover.web.route import BY_HANDLER, Answer, Permission, Route, handles

pytestmark = pytest.mark.req("SE-11")

NAMES = {"admin": Role.ADMIN, "viewer": Role.VIEWER, "program": Role.SERVICE_ROLE, "phone": Role.ANON}
READ_JOBS = Permission("jobs", Verb.READ)
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def route(method: str, path: str, **more) -> Route:
    more.setdefault("permission", READ_JOBS)
    answers = {200: Answer(str)}
    return Route(method=method, path=path, id=method + path, tag="test", summary="A test", answers=answers, **more)


class Handlers:
    def __init__(self) -> None:
        self.reads = 0

    @handles(route("GET", "/films/{id}", audited=AccessKind.FILM))
    async def film(self, request: web.Request, principal: Principal) -> web.Response:
        self.reads += 1
        return web.Response(text="a film")

    @handles(route("GET", "/alarms", permission=Permission("jobs", Verb.READ, own="me"), audited=AccessKind.FILM))
    async def alarms(self, request: web.Request, principal: Principal) -> web.Response:
        return web.Response(text="alarms")

    @handles(route("GET", "/jobs"))
    async def jobs(self, request: web.Request, principal: Principal) -> web.Response:
        return web.Response(text="jobs")

    @handles(route("PATCH", "/jobs/{id}", permission=Permission("jobs", Verb.UPDATE)))
    async def change(self, request: web.Request, principal: Principal) -> web.Response:
        if "fail" in request.query:
            raise web.HTTPConflict
        return web.Response(status=204)

    @handles(route("POST", "/jobs"))
    async def create(self, request: web.Request, principal: Principal) -> web.Response:
        return web.Response(headers={POSITION_HEADER: "fleet=1"} if "write" in request.query else {})

    @handles(route("POST", "/erasures/{id}", permission=Permission("jobs", Verb.CREATE)))
    async def erase(self, request: web.Request, principal: Principal) -> web.Response:
        """A change whose answer does not name a position."""
        return web.Response(text="erased")

    @handles(route("POST", "/some", permission=Permission("jobs", Verb.CREATE)))
    async def create_some(self, request: web.Request, principal: Principal) -> web.Response:
        raise ApiError(409, "CONFLICT", "Only some", headers={POSITION_HEADER: "fleet=7"})

    @handles(route("POST", "/sign-in", permission=None, caller="anybody"))
    async def sign_in(self, request: web.Request) -> web.Response:
        note_sign_in(request, principal("admin", session_id="s1"))
        return web.Response(text="a token")


def principal(name: str, **more) -> Principal:
    role = NAMES[name]
    user_id = name if role in (Role.ADMIN, Role.VIEWER) else None
    by = role.value if user_id is None else f"user:{name}"
    return Principal(role=role, name=by, expires_at=float("inf"), user_id=user_id, **more)


class Believing(Authenticator):
    def authenticate(self, headers):
        return principal(headers["Who"])


class Log:
    """Takes what is recorded, or does not."""

    def __init__(self) -> None:
        self.recorded: list[Recorded] = []
        self.is_away = False

    async def record(self, access: Recorded) -> None:
        if self.is_away:
            raise NotRecorded("nobody answers")
        self.recorded.append(access)

    def lines(self) -> list[tuple[str, str, str]]:
        return [(access.by, access.kind, access.what) for access in self.recorded]


class Server:
    def __init__(self, client: TestClient, log: Log, audit: Audit, handlers: Handlers) -> None:
        self.client, self.log, self.audit, self.handlers = client, log, audit, handlers
        self.now = 1000.0 * HOUR_S

    async def ask(self, method: str, path: str, who: str = "admin", **headers: str) -> int:
        async with self.client.request(method, path, headers={"Who": who, **headers}) as answer:
            await answer.read()
            return answer.status


@asynccontextmanager
async def serving(proxies=("127.0.0.0/8",)):
    log, handlers = Log(), Handlers()
    callers = Callers(proxies)
    audit = Audit(log, callers, clock=lambda: server.now)
    app = create_application(Health(), body_bytes_max=1024, audit=audit)
    add_handlers(app, [handlers], Access(Believing(["s" * 32]), Permissions(anon="full"), callers, audit=audit))
    async with TestClient(TestServer(app)) as client, audit.running():
        server = Server(client, log, audit, handlers)
        yield server


def proxied(address: str) -> dict[str, str]:
    """The headers of a proxy with TLS."""
    return {"X-Forwarded-For": address, "X-Forwarded-Proto": "https"}


async def test_a_sensitive_read_is_recorded_with_who_what_and_from_where():
    async with serving() as server:
        headers = {**proxied("203.0.113.9"), "User-Agent": "Firefox", "traceparent": TRACE}
        assert await server.ask("GET", "/films/7", **headers) == 200
        (access,) = server.log.recorded
    assert (access.by, access.kind, access.what) == ("user:admin", "film", "/films/7")
    assert (access.address, access.user_agent) == ("203.0.113.9", "Firefox")
    assert access.trace is not None
    assert access.trace.split("-")[1] == TRACE.split("-")[1]


async def test_a_page_that_polls_is_recorded_once_an_hour_for_each_person_thing_and_address():
    async with serving() as server:
        for _ in range(3):
            await server.ask("GET", "/films/7")
        assert len(server.log.recorded) == 1
        await server.ask("GET", "/films/8")
        await server.ask("GET", "/films/7", who="viewer")
        await server.ask("GET", "/films/7", **proxied("203.0.113.9"))
        assert len(server.log.recorded) == 4
        server.now += HOUR_S
        await server.ask("GET", "/films/7")
        assert len(server.log.recorded) == 5


async def test_a_read_that_cannot_be_recorded_is_503_and_its_handler_is_not_called():
    async with serving() as server:
        server.log.is_away = True
        assert await server.ask("GET", "/films/7") == 503
        assert server.handlers.reads == 0
        assert await server.ask("GET", "/jobs") == 200, "what is not sensitive needs no audit"
        server.log.is_away = False
        assert await server.ask("GET", "/films/7") == 200
        assert server.log.lines() == [("user:admin", "film", "/films/7")]


async def test_a_read_that_was_recorded_this_hour_goes_on_while_the_audit_is_away():
    async with serving() as server:
        await server.ask("GET", "/films/7")
        server.log.is_away = True
        assert await server.ask("GET", "/films/7") == 200


async def test_people_who_read_what_is_their_own_are_not_recorded_and_programs_are():
    async with serving() as server:
        assert await server.ask("GET", "/alarms") == 200
        assert server.log.lines() == []
        assert await server.ask("GET", "/alarms", who="program") == 200
        assert server.log.lines() == [("service_role", "film", "/alarms")]


async def test_every_change_of_a_person_is_recorded():
    async with serving() as server:
        for number in (1, 1, 2):
            assert await server.ask("PATCH", f"/jobs/{number}") == 204
        await eventually(lambda: len(server.log.recorded) == 3)
        assert {what for _, _, what in server.log.lines()} == {"PATCH /jobs/1", "PATCH /jobs/2"}
        assert server.log.recorded[0].address == "127.0.0.1"


async def test_the_change_and_its_access_have_the_same_trace():
    async with serving() as server:
        await server.ask("PATCH", "/jobs/1", traceparent=TRACE)
        await eventually(lambda: len(server.log.recorded) == 1)
        assert server.log.recorded[0].trace.split("-")[1] == TRACE.split("-")[1]


async def test_changes_of_programs_are_recorded_once_an_hour_for_each_route():
    async with serving() as server:
        for number in range(5):
            await server.ask("PATCH", f"/jobs/{number}", who="program")
        await eventually(lambda: len(server.log.recorded) == 1)
        assert server.log.lines() == [("service_role", "change", "PATCH /jobs/{id}")]


async def test_what_changes_nothing_is_not_recorded_nor_is_what_phones_do():
    async with serving() as server:
        assert await server.ask("POST", "/jobs") == 200, "a question by POST"
        assert await server.ask("PATCH", "/jobs/1?fail=1") == 409
        assert await server.ask("PATCH", "/jobs/1", who="phone") == 204
        assert await server.ask("POST", "/jobs?write=1") == 200
        await eventually(lambda: len(server.log.recorded) == 1)
        assert server.log.lines() == [("user:admin", "change", "POST /jobs")]


async def test_a_change_that_its_route_declares_is_recorded_whatever_its_answer_says():
    async with serving() as server:
        assert await server.ask("POST", "/erasures/kim") == 200
        await eventually(lambda: server.log.lines() == [("user:admin", "change", "POST /erasures/kim")])


async def test_an_error_after_something_was_written_is_recorded_as_a_change():
    async with serving() as server:
        assert await server.ask("POST", "/some") == 409
        await eventually(lambda: server.log.lines() == [("user:admin", "change", "POST /some")])


async def test_a_sign_in_is_recorded_with_its_session():
    async with serving() as server:
        assert await server.ask("POST", "/sign-in") == 200
        await eventually(lambda: len(server.log.recorded) == 1)
        assert server.log.lines() == [("user:admin", "sign_in", "session s1")]


async def test_a_change_goes_on_while_the_audit_is_away_and_is_recorded_later_once(monkeypatch):
    monkeypatch.setattr(auditing._RETRY.__class__, "pause_s", lambda self, tries, roll=0.5: 0.01)
    async with serving() as server:
        server.log.is_away = True
        assert await server.ask("PATCH", "/jobs/1") == 204
        assert server.log.recorded == []
        server.log.is_away = False
        await eventually(lambda: server.log.lines() == [("user:admin", "change", "PATCH /jobs/1")])
        await asyncio.sleep(0)
        assert len(server.log.recorded) == 1


async def test_if_too_many_wait_further_changes_of_people_are_refused(monkeypatch):
    monkeypatch.setattr(auditing, "WAITING_MAX", 2)
    monkeypatch.setattr(auditing, "LEAVE_S", 0.01)
    with capture_logs() as lines:
        async with serving() as server:
            server.log.is_away = True
            assert [await server.ask("PATCH", "/jobs/1") for _ in range(3)] == [204, 204, 503]
            assert await server.ask("PATCH", "/jobs/1", who="program") == 204
            assert await server.ask("GET", "/jobs") == 200
    lost = [line for line in lines if line["event"] == "access_lost"]
    assert len(lost) == 3, "what is not recorded when the process stops is at least in its log"
    assert {line["address"] for line in lost} == {"127.0.0.1"}


async def test_a_process_that_stops_waits_until_everything_is_recorded():
    async with serving() as server:
        gate = asyncio.Event()
        record = server.log.record

        async def slow(access: Recorded) -> None:
            await gate.wait()
            await record(access)

        server.log.record = slow
        await server.ask("PATCH", "/jobs/1")
        asyncio.get_running_loop().call_soon(gate.set)
    assert len(server.log.recorded) == 1


async def test_a_path_that_could_not_be_printed_is_recorded_all_the_same():
    async with serving() as server:
        assert await server.ask("GET", "/films/a%0Ab" + "x" * 400) == 200
        (access,) = server.log.recorded
    assert access.what.startswith("/films/a?bxx")
    assert len(access.what) == 300


def test_a_route_whose_handler_checks_the_permission_cannot_declare_what_it_reads():
    with pytest.raises(TypeError, match="also records"):
        route("GET", "/x", permission=BY_HANDLER, audited=AccessKind.FILM)


async def raw(server: Server, *lines: bytes) -> bytes:
    """Send a request that no client library would, and return the first line of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.client.port)
    writer.write(b"\r\n".join((*lines, b"Host: here", b"Who: admin", b"Connection: close", b"", b"")))
    answer = await reader.read()
    writer.close()
    return answer.partition(b"\r\n")[0]


async def test_a_user_agent_that_is_not_utf8_hides_neither_a_read_nor_a_change():
    async with serving() as server:
        agent = b"User-Agent: \xff\xfe Firefox/1"
        assert await raw(server, b"GET /films/7 HTTP/1.1", agent) == b"HTTP/1.1 200 OK"
        assert await raw(server, b"PATCH /jobs/1 HTTP/1.1", agent, b"Content-Length: 0") == b"HTTP/1.1 204 No Content"
        await eventually(lambda: len(server.log.recorded) == 2)
        assert server.log.lines() == [("user:admin", "film", "/films/7"), ("user:admin", "change", "PATCH /jobs/1")]
        for access in server.log.recorded:
            assert msgspec.json.decode(msgspec.json.encode(access))["user_agent"] == "?? Firefox/1"


async def test_a_change_whose_record_fails_by_a_fault_is_named_in_the_log():
    with capture_logs() as lines:
        async with serving() as server:

            async def fail(access: Recorded) -> None:
                raise RuntimeError("a fault")

            server.log.record = fail
            assert await server.ask("PATCH", "/jobs/1") == 204
            await eventually(lambda: any(line["event"] == "access_lost" for line in lines))
    (lost,) = [line for line in lines if line["event"] == "access_lost"]
    assert (lost["what"], lost["address"]) == ("PATCH /jobs/1", "127.0.0.1")
