"""The farm's HTTP client: bounded, and every failure is an answer. When to try again is not decided here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import aiohttp
import msgspec
from yarl import URL

from drover.simulator.patience import NO_CONNECTION, Answer
from drover.simulator.phone import Heartbeat, Identity

CONNECTIONS_MAX: Final = 64
REQUEST_S: Final = 10.0
CONNECT_S: Final = 5.0
KEEPALIVE_S: Final = 30.0
"""Below the server's, so that it is we who let go of an idle connection and no request meets a closed one."""

ROWS_PER_REQUEST_MAX: Final = 100

_encode: Final = msgspec.json.Encoder().encode


class Client:
    """Speaks to one Drover, as phones do (anon key) and as the back office of the farm does (service key)."""

    def __init__(self, session: aiohttp.ClientSession, url: str, anon_key: str, service_key: str) -> None:
        self._session = session
        self._url = URL(url)
        self._devices = self._url / "rest/v1/devices"
        self._pcs = self._url / "rest/v1/pcs"
        self._as_phone = _headers(anon_key)
        self._as_farm = _headers(service_key)

    async def ready(self) -> Answer:
        return (await self._ask("GET", self._url / "readyz", {}))[0]

    async def heartbeat(self, serial_number: str, beat: Heartbeat) -> Answer:
        url = URL(f"{self._devices}?serial_number=eq.{serial_number}", encoded=True)  # a serial needs no escaping
        body = {"last_seen_at": datetime.now(UTC), "status": beat.status}
        return (await self._ask("PATCH", url, self._as_phone, body))[0]

    async def known_pcs(self, pc_ids: Sequence[str]) -> tuple[Answer, set[str]]:
        """Which of these PCs are registered."""
        assert len(pc_ids) <= ROWS_PER_REQUEST_MAX
        url = self._pcs.with_query(select="id", id=f"in.({','.join(pc_ids)})")
        answer, body = await self._ask("GET", url, self._as_farm)
        return answer, {row["id"] for row in msgspec.json.decode(body)} if answer.ok else set()

    async def register_pcs(self, pc_ids: Iterable[str]) -> Answer:
        return await self._create(self._pcs, [{"id": pc_id} for pc_id in pc_ids])

    async def register_devices(self, phones: Iterable[Identity]) -> Answer:
        return await self._create(self._devices, [phone._asdict() for phone in phones])

    async def _create(self, url: URL, rows: list[dict[str, Any]]) -> Answer:
        assert 1 <= len(rows) <= ROWS_PER_REQUEST_MAX
        return (await self._ask("POST", url, self._as_farm, rows))[0]

    async def _ask(self, method: str, url: URL, headers: dict[str, str], body: Any = None) -> tuple[Answer, bytes]:
        data = None if body is None else _encode(body)
        try:
            async with self._session.request(method, url, headers=headers, data=data) as response:
                content = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError):
            return NO_CONNECTION, b""
        return Answer(response.status, retry_after_s(response.headers.get("Retry-After"), datetime.now(UTC))), content


def _headers(key: str) -> dict[str, str]:
    return {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": "application/json"}


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """The header in seconds: it may be a number or a date. None where it says nothing that can be obeyed."""
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
    connector = aiohttp.TCPConnector(limit=connections_max, keepalive_timeout=KEEPALIVE_S)
    timeout = aiohttp.ClientTimeout(total=REQUEST_S, sock_connect=CONNECT_S)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=True
    ) as session:
        yield Client(session, url, anon_key, service_key)
