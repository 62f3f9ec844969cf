"""The finished file of a render: who may see it, which bytes they get, and what is said when it cannot be had."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import PurePosixPath
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.api.films.films import FILMS_MAX, PIECE_BYTES_MAX, Films
from drover.api.films.tickets import TICKET_S, Tickets
from drover.api.reads.database import ReadModels
from drover.domain.errors import DroverError
from drover.nas.opening import open_store
from drover.service.api_keys import Role
from drover.service.health import Health
from drover.testing.waiting import eventually
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.audit import Audit
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.people import BuiltIn
from drover.web.permissions import Permissions
from tests.unit.api.reads.desk import KEYS, SECRET, FakePool, Row, key_of
from tests.unit.web.test_audit import Log as AuditLog

ROOT = "/mnt/nas"
PLACE = f"{ROOT}/2026-11-16/자막_7.mp4"
FILM = bytes(range(256)) * 10_000
pytestmark = pytest.mark.req("EV-05")


class FakeNas:
    def __init__(self) -> None:
        self.files = {PurePosixPath("2026-11-16/자막_7.mp4"): FILM}
        self.away_after = 1_000
        self.reads: list[tuple[int, int]] = []

    def inside(self, location: str) -> PurePosixPath | None:
        path = PurePosixPath(location)
        return path.relative_to(ROOT) if path.is_relative_to(ROOT) else None

    async def read(self, path: PurePosixPath, start: int, bytes_max: int) -> tuple[int, bytes] | None:
        self.reads.append((start, bytes_max))
        if len(self.reads) > self.away_after:
            raise DroverError("NAS: no sign of life")
        file = self.files.get(path)
        return None if file is None else (len(file), file[start : start + bytes_max])


class Cinema:
    def __init__(self, client: TestClient, pool: FakePool, nas: FakeNas, films: Films, log: AuditLog) -> None:
        self.client = client
        self.log = log
        self.pool = pool
        self.nas = nas
        self.films = films

    def delivered(self, location: str | None = PLACE, size_bytes: int | None = len(FILM)) -> None:
        self.pool.rows["output_file_path"] = [
            Row(output_file_path=location, output_size_bytes=size_bytes, output_sha256="ab" * 32)
        ]

    async def get(self, path: str, role: Role | None = Role.OPERATOR, **headers: str) -> tuple[int, Any, bytes]:
        sent = headers if role is None else headers | key_of(role)
        async with self.client.get(path, headers=sent) as answer:
            return answer.status, answer.headers, await answer.read()

    async def fault(self, path: str = "/api/renders/7/preview") -> tuple[int, str]:
        async with self.client.get(path, headers=key_of(Role.ADMIN)) as answer:
            return answer.status, (await answer.json())["error"]


@asynccontextmanager
async def cinema_with(nas: Any) -> AsyncIterator[Cinema]:
    pool = FakePool()
    app = create_application(Health(), body_bytes_max=1024)
    log = AuditLog()
    callers = Callers(["127.0.0.0/8"])
    audit = Audit(log, callers)
    access = Access(Authenticator([SECRET], people=[BuiltIn(KEYS)]), Permissions(), callers, audit=audit)
    films = Films(access, ReadModels(pool), nas, [SECRET])
    add_handlers(app, [films], access)
    async with TestClient(TestServer(app)) as client:
        cinema = Cinema(client, pool, nas, films, log)
        cinema.delivered()
        yield cinema


@pytest.fixture
async def cinema() -> AsyncIterator[Cinema]:
    async with cinema_with(FakeNas()) as cinema:
        yield cinema


async def test_a_player_needs_no_token_with_the_address_of_the_preview(cinema):
    async with cinema.client.get("/api/renders/7/preview", headers=key_of(Role.OPERATOR)) as answer:
        preview = await answer.json()
    assert preview["name"] == "자막_7.mp4"
    assert preview["size_bytes"] == len(FILM)
    status, headers, body = await cinema.get(preview["url"], role=None)
    assert (status, body) == (200, FILM)
    assert (headers["Content-Type"], headers["Accept-Ranges"]) == ("video/mp4", "bytes")
    assert all(size <= PIECE_BYTES_MAX for _, size in cinema.nas.reads)


@pytest.mark.req("SE-11")
async def test_who_watches_a_film_is_recorded_also_by_a_ticket_that_somebody_else_has(cinema):
    kim = key_of(Role.OPERATOR)
    async with cinema.client.get("/api/renders/7/preview", headers=kim) as answer:
        url = (await answer.json())["url"]
    ((by, kind, what),) = cinema.log.lines()
    assert (by.partition(":")[0], kind, what) == ("user", "film", "/api/renders/7/preview")
    for address in ("203.0.113.9", "203.0.113.9", "198.51.100.1"):
        proxied = {"X-Forwarded-For": address, "X-Forwarded-Proto": "https"}
        assert (await cinema.get(url, role=None, **proxied))[0] == 200
    assert [(one.by, one.what, one.address) for one in cinema.log.recorded[1:]] == [
        (by, "/api/renders/7/file", "203.0.113.9"),
        (by, "/api/renders/7/file", "198.51.100.1"),
    ]
    forged = url.replace(url.split(".")[1], "dXNlcjpsZWU")
    assert (await cinema.get(forged, role=None))[0] == 403


@pytest.mark.req("SE-11")
async def test_no_byte_of_a_film_is_sent_that_cannot_be_recorded(cinema):
    url = f"/api/renders/7/file?ticket={cinema.films._tickets.make(7, 'user:kim')[0]}"
    cinema.log.is_away = True
    for path in ("/api/renders/7/preview", "/api/renders/7/file", url):
        status, _, body = await cinema.get(path)
        assert (status, b"AUDIT_UNAVAILABLE" in body) == (503, True)
    assert cinema.nas.reads == []


async def test_a_ticket_is_for_its_own_film_and_its_own_time():
    now = 1_000_000.0
    tickets = Tickets([SECRET], clock=lambda: now)
    ticket, ends = tickets.make(7, "user:kim")
    assert tickets.holder(ticket, 7) == "user:kim"
    assert tickets.holder(ticket, 8) is None
    assert tickets.holder(ticket.replace(str(ends), str(ends + 1)), 7) is None
    assert Tickets(["x" * 32], clock=lambda: now).holder(ticket, 7) is None
    assert Tickets(["x" * 32, SECRET], clock=lambda: now).holder(ticket, 7) == "user:kim"
    now += TICKET_S
    assert tickets.holder(ticket, 7) is None


async def test_a_ticket_that_is_no_good_is_403(cinema):
    for ticket in ("", "1", "9999999999.x", "٣.x", "é.é"):
        status, _, _ = await cinema.get(f"/api/renders/7/file?ticket={ticket}", role=Role.ADMIN)
        assert status == 403, ticket
    assert cinema.nas.reads == []


async def test_whoever_may_not_see_gfx_data_sees_no_film(cinema):
    for path in ("/api/renders/7/preview", "/api/renders/7/file"):
        for role in (Role.VIEWER, Role.ANON, Role.DEVICE):
            assert (await cinema.get(path, role))[0] == 403
        assert (await cinema.get(path, None))[0] == 401
    assert cinema.nas.reads == []


async def test_one_range_is_given_alone(cinema):
    status, headers, body = await cinema.get("/api/renders/7/file", Range="bytes=1000-1999")
    assert (status, body) == (206, FILM[1000:2000])
    assert headers["Content-Range"] == f"bytes 1000-1999/{len(FILM)}"
    status, headers, body = await cinema.get("/api/renders/7/file", Range=f"bytes={len(FILM)}-")
    assert (status, headers["Content-Range"]) == (416, f"bytes */{len(FILM)}")


async def test_a_range_of_a_file_that_is_another_by_now_gets_all_of_it(cinema):
    _, headers, _ = await cinema.get("/api/renders/7/file", Range="bytes=0-0")
    same = {"Range": "bytes=0-9", "If-Range": headers["ETag"]}
    assert (await cinema.get("/api/renders/7/file", **same))[0] == 206
    assert (await cinema.get("/api/renders/7/file", **(same | {"If-Range": '"other"'})))[0] == 200


async def test_the_head_says_how_long_it_is_and_sends_nothing(cinema):
    async with cinema.client.head("/api/renders/7/file", headers=key_of(Role.OPERATOR)) as answer:
        assert (answer.status, answer.headers["Content-Length"]) == (200, str(len(FILM)))
        assert await answer.read() == b""


async def test_a_download_has_its_name(cinema):
    _, headers, _ = await cinema.get("/api/renders/7/file?download=true", Range="bytes=0-0")
    assert headers["Content-Disposition"].startswith("attachment; filename*=UTF-8''%EC%9E%90")


async def test_what_is_wrong_is_said_before_the_first_byte(cinema):
    cinema.delivered(location=None, size_bytes=None)
    assert await cinema.fault() == (404, "NO_FILE")
    cinema.delivered(location="/etc/passwd")
    assert await cinema.fault() == (404, "FILE_ELSEWHERE")
    cinema.delivered(location=f"{ROOT}/2026-11-16/other_8.mp4")
    assert await cinema.fault() == (404, "FILE_GONE")
    cinema.delivered(size_bytes=3)
    assert await cinema.fault() == (409, "FILE_CHANGED")
    cinema.delivered()
    cinema.nas.away_after = 0
    assert await cinema.fault() == (503, "NAS_UNREACHABLE")
    assert await cinema.fault("/api/renders/7/file") == (503, "NAS_UNREACHABLE")
    cinema.pool.rows.clear()
    assert await cinema.fault() == (404, "NOT_FOUND")


async def test_a_process_without_a_nas_says_so():
    async with cinema_with(None) as cinema:
        assert await cinema.fault() == (501, "NAS_NOT_CONFIGURED")


async def test_a_nas_that_goes_away_in_between_cuts_the_line(cinema):
    cinema.nas.away_after = 1
    with pytest.raises(aiohttp.ClientPayloadError):
        await cinema.get("/api/renders/7/file")
    assert cinema.films._sending == 0


async def test_no_more_than_so_many_are_sent_at_once(cinema):
    cinema.films._sending = FILMS_MAX
    assert await cinema.fault("/api/renders/7/file") == (503, "OVERLOADED")
    assert (await cinema.get("/api/renders/7/preview"))[0] == 200


async def test_who_stops_reading_does_not_keep_their_turn(cinema):
    large = bytes(64 * 1024 * 1024)  # more than the line has room for
    cinema.nas.files = dict.fromkeys(cinema.nas.files, large)
    cinema.delivered(size_bytes=len(large))
    cinema.films._send_s = 0.05
    _, writer = await asyncio.open_connection("127.0.0.1", cinema.client.port, limit=1)
    ticket, _ = cinema.films._tickets.make(7, "user:kim")
    writer.write(f"GET /api/renders/7/file?ticket={ticket} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    async def cut_off():
        return len(cinema.nas.reads) > 0 and cinema.films._sending == 0

    await eventually(cut_off)
    assert len(cinema.nas.reads) < len(large) // PIECE_BYTES_MAX
    writer.transport.abort()


async def test_a_file_that_a_worker_delivered_to_a_folder_is_shown_from_there(tmp_path):
    (tmp_path / "2026-11-16").mkdir()
    (tmp_path / "2026-11-16" / "자막_7.mp4").write_bytes(FILM)
    store = open_store(str(tmp_path), guard="folder")
    async with cinema_with(store) as cinema:
        cinema.delivered(location=store.location(PurePosixPath("2026-11-16/자막_7.mp4")))
        status, _, body = await cinema.get("/api/renders/7/file", Range="bytes=5-")
        assert (status, body) == (206, FILM[5:])
        cinema.delivered(location=f"{tmp_path}/../secrets.mp4")
        assert await cinema.fault() == (404, "FILE_ELSEWHERE")
        (tmp_path / "2026-11-16" / "link.mp4").symlink_to("/etc/passwd")
        cinema.delivered(location=f"{tmp_path}/2026-11-16/link.mp4")
        assert await cinema.fault() == (503, "NAS_UNREACHABLE")
