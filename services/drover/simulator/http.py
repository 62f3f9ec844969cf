"""The farm's HTTP client, with a bounded number of connections. A failure becomes an `Answer`; the caller decides about
retries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import aiohttp
import msgspec
from yarl import URL

from drover.domain.render.state import ENDED
from drover.simulator.clock import Clock
from drover.simulator.phone import Identity
from drover.simulator.protocol import NO_ANSWER, NO_CONNECTION, Answer, Heartbeat, Offer, Report, body_of

CONNECTIONS_MAX: Final = 64
SOCKETS_MAX: Final = 20_000
HEARTBEAT_S: Final = 10.0
REQUEST_S: Final = 30.0
"""Time-out of a request in seconds: longer than the platform's own time-out for its log, so that its answer arrives."""
CONNECT_S: Final = 5.0
KEEPALIVE_S: Final = 30.0
"""How many seconds an idle connection is kept: less than the server keeps it, so that no request is sent on a closed
one."""

SOCKET_CLOSE_S: Final = 1.0
SOCKET_PING_S: Final = 20.0
"""Seconds between pings on an idle socket. A socket that does not answer within half of that is closed."""
FRAME_BYTES_MAX: Final = 1024 * 1024
"""Maximum size in bytes of a frame from the platform. Frames of the farm are far below the platform's limit of 64
KiB."""

ROWS_PER_REQUEST_MAX: Final = 100
JOBS_LOOKED_AT_MAX: Final = 100

_encode: Final = msgspec.json.Encoder().encode
_TIMED: Final = {
    limit_s: aiohttp.ClientTimeout(total=limit_s, sock_connect=CONNECT_S) for limit_s in (HEARTBEAT_S, REQUEST_S)
}


class _Refusal(msgspec.Struct):
    code: str | None = None


class Client:
    """The client of one Drover, which acts as phones (with the anon key) and as the farm's back office (with the
    service key)."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        sockets: aiohttp.ClientSession,
        url: str,
        anon_key: str,
        service_key: str,
    ) -> None:
        self._session = session
        self._sockets = sockets
        self._url = URL(url)
        self._devices = self._url / "rest/v1/devices"
        self._assignments = self._url / "rest/v1/job_assignments"
        self._pcs = self._url / "rest/v1/pcs"
        self._tasks = self._url / "rest/v1/tasks"
        self._as_phone = _headers(anon_key)
        self._as_farm = _headers(service_key)

    # As phones

    async def heartbeat(self, serial_number: str, beat: Heartbeat) -> Answer:
        url = URL(f"{self._devices}?serial_number=eq.{serial_number}", encoded=True)  # a serial needs no escaping
        body = {"last_seen_at": datetime.now(UTC), "status": beat.status}
        return (await self._ask("PATCH", url, self._as_phone, body, limit_s=HEARTBEAT_S))[0]

    async def poll(self, device_id: str) -> Answer:
        """Poll for work. The answer has the offer, if there is one."""
        url = URL(
            f"{self._assignments}?select=*,jobs(*)&device_id=eq.{device_id}&status=eq.pending"
            "&order=assigned_at.asc&limit=1",
            encoded=True,
        )
        answer, body = await self._ask("GET", url, self._as_phone)
        if not answer.ok:
            return answer
        try:
            offers = msgspec.json.decode(body, type=list[Offer])
        except msgspec.DecodeError:
            return NO_ANSWER  # not a valid offer
        return answer._replace(offer=offers[0]) if offers else answer

    async def report(self, report: Report, clock: Clock) -> Answer:
        url = URL(f"{self._assignments}?id=eq.{report.assignment_id}", encoded=True)
        return (await self._ask("PATCH", url, self._as_phone, body_of(report, clock.wall)))[0]

    async def dial(self) -> tuple[Answer, aiohttp.ClientWebSocketResponse | None]:
        """Open a socket. If that fails, the returned answer says why."""
        try:
            async with asyncio.timeout(REQUEST_S):
                socket = await self._sockets.ws_connect(
                    self._url / "agent/v1/connect",
                    headers=self._as_phone,
                    heartbeat=SOCKET_PING_S,
                    timeout=aiohttp.ClientWSTimeout(ws_close=SOCKET_CLOSE_S),
                    max_msg_size=FRAME_BYTES_MAX,
                )
        except aiohttp.WSServerHandshakeError as error:
            asked = None if error.headers is None else error.headers.get("Retry-After")
            return Answer(error.status, retry_after_s(asked, datetime.now(UTC))), None
        except (aiohttp.ClientError, TimeoutError, OSError):
            return NO_CONNECTION, None
        return Answer(101), socket

    # As the back office

    async def ready(self) -> Answer:
        return (await self._ask("GET", self._url / "readyz", {}))[0]

    async def known_pcs(self, pc_ids: Sequence[str]) -> tuple[Answer, set[str]]:
        """Return those of these PCs that are registered."""
        answer, rows = await self._select(self._pcs, "id", id=_one_of(pc_ids))
        return answer, {row["id"] for row in rows}

    async def device_ids(self, serial_numbers: Sequence[str]) -> tuple[Answer, dict[str, str]]:
        """Return the platform's ids of these phones, by serial number. Unknown phones are left out."""
        answer, rows = await self._select(self._devices, "id,serial_number", serial_number=_one_of(serial_numbers))
        return answer, {row["serial_number"]: row["id"] for row in rows}

    async def register_pcs(self, pc_ids: Iterable[str]) -> Answer:
        return await self._create(self._pcs, [{"id": pc_id} for pc_id in pc_ids])

    async def register_devices(self, phones: Iterable[Identity]) -> Answer:
        return await self._create(self._devices, [phone._asdict() for phone in phones])

    async def create(self, relation: str, row: Mapping[str, Any]) -> Answer:
        """Create a row, as the back office."""
        return (await self._ask("POST", self._url / "rest/v1" / relation, self._as_farm, row))[0]

    async def api(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, headers: Mapping[str, str] | None = None
    ) -> tuple[Answer, bytes]:
        """Call any other route, as the back office, its workers or its cron jobs."""
        return await self._ask(method, self._url.joinpath(path.lstrip("/")), {**self._as_farm, **(headers or {})}, body)

    async def unfinished_renders(self) -> tuple[Answer, int]:
        answer, rows = await self._select(
            self._url / "rest/v1/render_queue",
            "id",
            status=f"not.in.({','.join(sorted(ENDED))})",
            limit=str(JOBS_LOOKED_AT_MAX),
        )
        return answer, len(rows)

    async def unfinished_jobs(self, since: datetime) -> tuple[Answer, int]:
        """Count the jobs that were created at the time `since` or later and have not ended."""
        answer, rows = await self._select(
            self._tasks,
            "id",
            status="in.(pending,running,retrying)",
            created_at=f"gte.{since.isoformat().replace('+00:00', 'Z')}",
            limit=str(JOBS_LOOKED_AT_MAX),
        )
        return answer, len(rows)

    async def _select(self, url: URL, columns: str, **filters: str) -> tuple[Answer, list[dict[str, Any]]]:
        answer, body = await self._ask("GET", url.with_query(select=columns, **filters), self._as_farm)
        return answer, msgspec.json.decode(body) if answer.ok else []

    async def _create(self, url: URL, rows: list[dict[str, Any]]) -> Answer:
        assert 1 <= len(rows) <= ROWS_PER_REQUEST_MAX
        return (await self._ask("POST", url, self._as_farm, rows))[0]

    async def _ask(
        self, method: str, url: URL, headers: dict[str, str], body: Any = None, *, limit_s: float = REQUEST_S
    ) -> tuple[Answer, bytes]:
        data = None if body is None else _encode(body)
        try:
            async with self._session.request(
                method, url, headers=headers, data=data, timeout=_TIMED[limit_s]
            ) as response:
                content = await response.read()
        except aiohttp.ConnectionTimeoutError:
            return NO_CONNECTION, b""
        except TimeoutError:
            return NO_ANSWER, b""
        except (aiohttp.ClientError, OSError):
            return NO_CONNECTION, b""
        heard = response.headers
        answer = Answer(
            response.status,
            retry_after_s(heard.get("Retry-After"), datetime.now(UTC)),
            code=_code(content) if response.status >= 400 else None,
            poll_after_s=_seconds(heard.get("Drover-Poll-After")),
        )
        return answer, content


def _one_of(values: Sequence[str]) -> str:
    assert 1 <= len(values) <= ROWS_PER_REQUEST_MAX
    return f"in.({','.join(values)})"


def _headers(key: str) -> dict[str, str]:
    return {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": "application/json"}


def _code(content: bytes) -> str | None:
    try:
        return msgspec.json.decode(content, type=_Refusal).code
    except msgspec.DecodeError:
        return None


def _seconds(value: str | None) -> float | None:
    return float(value) if value is not None and value.strip().isdecimal() else None


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """Parse a `Retry-After` header, which is a number of seconds or a date, into seconds. None if it is invalid."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    if until.tzinfo is None:  # "-0000" in the header
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())


@asynccontextmanager
async def connect(
    url: str, anon_key: str, service_key: str, *, connections_max: int = CONNECTIONS_MAX
) -> AsyncIterator[Client]:
    # Sockets stay open, so they get connections of their own.
    limits = (connections_max, SOCKETS_MAX)
    requests, sockets = (aiohttp.TCPConnector(limit=limit, keepalive_timeout=KEEPALIVE_S) for limit in limits)
    async with (
        aiohttp.ClientSession(connector=requests, cookie_jar=aiohttp.DummyCookieJar()) as session,
        aiohttp.ClientSession(
            connector=sockets,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        ) as socket_session,
    ):
        yield Client(session, socket_session, url, anon_key, service_key)
