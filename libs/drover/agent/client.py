"""The HTTP client of phones, with a bounded number of connections. A failure becomes an `Answer`; the caller decides
about retries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec
from yarl import URL

from drover.agent.clock import Clock
from drover.agent.protocol import NO_ANSWER, NO_CONNECTION, Answer, Heartbeat, Offer, Report, body_of

CONNECTIONS_MAX: Final = 64
SOCKETS_MAX: Final = 20_000
HEARTBEAT_S: Final = 10.0
REQUEST_S: Final = 30.0
"""Time-out of a request in seconds: longer than the platform's own time-out for its log, so that its answer arrives."""
CONNECT_S: Final = 5.0
PICTURE_S: Final = 10.0
"""Time-out of an upload in seconds. The report of the failure waits for it."""
KEEPALIVE_S: Final = 30.0
"""How many seconds an idle connection is kept: less than the server keeps it, so that no request is sent on a closed
one."""

SOCKET_CLOSE_S: Final = 1.0
SOCKET_PING_S: Final = 20.0
"""Seconds between pings on an idle socket. A socket that does not answer within half of that is closed."""
FRAME_BYTES_MAX: Final = 1024 * 1024
"""Maximum size in bytes of a frame from the platform. Frames of agents are far below the platform's limit of 64
KiB."""

_encode: Final = msgspec.json.Encoder().encode
_TIMED: Final = {
    limit_s: aiohttp.ClientTimeout(total=limit_s, sock_connect=CONNECT_S)
    for limit_s in (HEARTBEAT_S, REQUEST_S, PICTURE_S)
}


class _Redirected(aiohttp.ClientError):
    """The platform's address sends clients to another one. aiohttp would follow, and hand the key to that address."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(status)


async def _refuse(session: object, context: object, redirect: aiohttp.TraceRequestRedirectParams) -> None:
    raise _Redirected(redirect.response.status)


class _Refusal(msgspec.Struct):
    code: str | None = None


class _KeptPicture(msgspec.Struct):
    screenshot_ref: str


class Device(msgspec.Struct):
    """A phone, as the platform knows it."""

    id: str
    serial_number: str


class Sessions(NamedTuple):
    """The connections of a client: some for requests, and others for sockets, because these stay open."""

    requests: aiohttp.ClientSession
    sockets: aiohttp.ClientSession


class PhoneClient:
    """The client of one Drover that acts as phones: with a key that they share, or with keys of their own."""

    def __init__(self, sessions: Sessions, url: str, key: str) -> None:
        """`key`: for phones without a key of their own."""
        self._session, self._sockets = sessions
        self.url: Final = url
        self._url = URL(url)
        self._devices = self._url / "rest/v1/devices"
        self._assignments = self._url / "rest/v1/job_assignments"
        self._evidence = self._url / "agent/v1/assignments"
        self._as_any_phone = headers_of(key)
        self._own: dict[str, dict[str, str]] = {}
        """For each phone that has a key of its own, by serial number: its headers."""

    def use_keys(self, keys: Mapping[str, str]) -> None:
        """Use keys of their own for these phones, by serial number."""
        self._own.update({serial_number: headers_of(key) for serial_number, key in keys.items()})

    def _as_phone(self, serial_number: str | None) -> dict[str, str]:
        return self._own.get(serial_number or "", self._as_any_phone)

    async def heartbeat(self, serial_number: str, beat: Heartbeat) -> Answer:
        url = URL(f"{self._devices}?serial_number=eq.{serial_number}", encoded=True)  # a serial needs no escaping
        body = beat.body(datetime.now(UTC))
        return (await self._ask("PATCH", url, self._as_phone(serial_number), body, limit_s=HEARTBEAT_S))[0]

    async def device_id(self, serial_number: str) -> tuple[Answer, str | None]:
        """Return the platform's id of this phone; None if it does not know the phone."""
        url = URL(f"{self._devices}?select=id,serial_number&serial_number=eq.{serial_number}", encoded=True)
        answer, body = await self._ask("GET", url, self._as_phone(serial_number))
        if not answer.ok:
            return answer, None
        try:
            found = msgspec.json.decode(body, type=list[Device])
        except msgspec.DecodeError:
            return NO_ANSWER, None
        return answer, found[0].id if found else None

    async def poll(self, device_id: str, serial_number: str | None = None) -> Answer:
        """Poll for work. The answer has the offer, if there is one. `serial_number`: of the phone whose key is used."""
        url = URL(
            f"{self._assignments}?select=*,jobs(*)&device_id=eq.{device_id}&status=eq.pending"
            "&order=assigned_at.asc&limit=1",
            encoded=True,
        )
        answer, body = await self._ask("GET", url, self._as_phone(serial_number))
        if not answer.ok:
            return answer
        try:
            offers = msgspec.json.decode(body, type=list[Offer])
        except msgspec.DecodeError:
            return NO_ANSWER  # not a valid offer
        return answer._replace(offer=offers[0]) if offers else answer

    async def report(self, report: Report, clock: Clock, serial_number: str | None = None) -> Answer:
        url = URL(f"{self._assignments}?id=eq.{report.assignment_id}", encoded=True)
        return (await self._ask("PATCH", url, self._as_phone(serial_number), body_of(report, clock.wall)))[0]

    async def upload(
        self, assignment_id: str, run: int, picture: bytes, serial_number: str | None = None
    ) -> tuple[Answer, str | None]:
        """Upload the picture of a failure. Returns the reference that its report carries; None if it was not kept."""
        url = URL(f"{self._evidence}/{assignment_id}/evidence?run={run}", encoded=True)
        headers = {**self._as_phone(serial_number), "Content-Type": "application/octet-stream"}
        answer, body = await self._ask("POST", url, headers, picture, limit_s=PICTURE_S)
        if not answer.ok:
            return answer, None
        try:
            return answer, msgspec.json.decode(body, type=_KeptPicture).screenshot_ref
        except msgspec.DecodeError:
            return NO_ANSWER, None

    async def dial(self, serial_number: str | None = None) -> tuple[Answer, aiohttp.ClientWebSocketResponse | None]:
        """Open a socket. If that fails, the returned answer says why."""
        try:
            async with asyncio.timeout(REQUEST_S):
                socket = await self._sockets.ws_connect(
                    self._url / "agent/v1/connect",
                    headers=self._as_phone(serial_number),
                    heartbeat=SOCKET_PING_S,
                    timeout=aiohttp.ClientWSTimeout(ws_close=SOCKET_CLOSE_S),
                    max_msg_size=FRAME_BYTES_MAX,
                )
        except _Redirected as error:
            return Answer(error.status), None
        except aiohttp.WSServerHandshakeError as error:
            asked = None if error.headers is None else error.headers.get("Retry-After")
            return Answer(error.status, retry_after_s(asked, datetime.now(UTC))), None
        except (aiohttp.ClientError, TimeoutError, OSError):
            return NO_CONNECTION, None
        return Answer(101), socket

    async def post(self, path: str, body: Mapping[str, Any], *, token: str | None = None) -> tuple[Answer, bytes]:
        """Call a route without a key, or as the person with this token."""
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return await self._ask("POST", self._url.join(URL(path)), headers, body)

    async def _ask(
        self, method: str, url: URL, headers: dict[str, str], body: Any = None, *, limit_s: float = REQUEST_S
    ) -> tuple[Answer, bytes]:
        data = body if body is None or isinstance(body, bytes) else _encode(body)
        try:
            async with self._session.request(
                method, url, headers=headers, data=data, timeout=_TIMED[limit_s]
            ) as response:
                content = await response.read()
        except _Redirected as error:
            return Answer(error.status), b""
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


def headers_of(key: str) -> dict[str, str]:
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
async def connections(*, requests_max: int = CONNECTIONS_MAX) -> AsyncIterator[Sessions]:
    """Open the connections of a client. `requests_max`: how many requests run at the same time; others wait."""
    limits = (requests_max, SOCKETS_MAX)
    no_redirects = aiohttp.TraceConfig()
    no_redirects.on_request_redirect.append(_refuse)
    requests, sockets = (aiohttp.TCPConnector(limit=limit, keepalive_timeout=KEEPALIVE_S) for limit in limits)
    async with (
        aiohttp.ClientSession(
            connector=requests, cookie_jar=aiohttp.DummyCookieJar(), trace_configs=[no_redirects]
        ) as session,
        aiohttp.ClientSession(
            connector=sockets,
            cookie_jar=aiohttp.DummyCookieJar(),
            trace_configs=[no_redirects],
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        ) as socket_session,
    ):
        yield Sessions(session, socket_session)
