"""Talking to a platform as its users do: over HTTP, with one of its keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import Any, Final, NamedTuple
from zlib import crc32

import aiohttp
import msgspec
from yarl import URL

from drover.projection.positions import BEHIND_HEADER

ANSWER_S: Final = 30.0
"""Longer than the platform itself waits for anything."""
PAGE_ROWS: Final = 1000
PCS: Final = 997


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.raw)

    @property
    def code(self) -> str | None:
        """The error code, of an error: under `/rest` it is called `code`, under `/api` and `/auth` `error`."""
        return (self.json.get("code") or self.json["error"]) if self.status >= 400 else None


def device(serial: str, **more: Any) -> dict[str, Any]:
    """Spread over PCs, as a PC has room for 200."""
    return {"serial_number": serial, "group_id": "P1-G1", "pc_id": f"pc-{crc32(serial.encode()) % PCS}"} | more


class Http:
    """One caller with both keys: the phones' and the back office's."""

    def __init__(self, session: aiohttp.ClientSession, url: str, anon_key: str, service_key: str) -> None:
        self._session = session
        self._url = url
        self._anon = {"apikey": anon_key}
        self._service = {"apikey": service_key}

    async def call(
        self,
        method: str,
        path: str,
        *,
        anon: bool = False,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = ANSWER_S,
        **content: Any,
    ) -> Answer:
        async with self._session.request(
            method,
            URL(self._url + path, encoded="%" in path),
            headers={**(self._anon if anon else self._service), **(headers or {})},
            timeout=aiohttp.ClientTimeout(total=timeout_s),
            **content,
        ) as answer:
            return Answer(answer.status, answer.headers, await answer.read())

    async def get(self, path: str, **how: Any) -> Answer:
        return await self.call("GET", path, **how)

    async def register(self, *serials: str, **how: Any) -> Answer:
        """One phone, or several with one request."""
        rows = [device(serial) for serial in serials]
        return await self.call("POST", "/rest/v1/devices", json=rows if len(rows) > 1 else rows[0], **how)

    async def beat(self, serial: str, **how: Any) -> Answer:
        """What a phone sends every ten seconds."""
        path = f"/rest/v1/devices?serial_number=eq.{serial}"
        return await self.call("PATCH", path, anon=True, json={"status": "online"}, **how)

    async def rows(self, relation: str, query: str = "", **how: Any) -> list[dict[str, Any]]:
        """All of them, page by page, with every write that was acknowledged before."""
        found: list[dict[str, Any]] = []
        while True:
            page = f"{query}&limit={PAGE_ROWS}&offset={len(found)}"
            answer = await self._fresh(f"/rest/v1/{relation}?{page.lstrip('&')}", **how)
            assert answer.status == 200, answer
            found += answer.json
            if len(answer.json) < PAGE_ROWS:
                return found

    async def _fresh(self, path: str, **how: Any) -> Answer:
        """A read waits a second for the writes before it. Where that was too short, the answer says so."""
        deadline = asyncio.get_running_loop().time() + ANSWER_S
        while BEHIND_HEADER in (answer := await self.get(path, **how)).headers:
            if asyncio.get_running_loop().time() > deadline:
                break
        return answer

    async def serials(self) -> list[str]:
        """Those of all phones, as often as each of them is there."""
        return [row["serial_number"] for row in await self.rows("devices", "select=serial_number&order=serial_number")]

    async def status_of(self, serial: str) -> str | None:
        """None: the read model does not have it yet."""
        rows = await self.rows("devices", f"serial_number=eq.{serial}")
        return rows[0]["status"] if rows else None

    async def log_position(self) -> int:
        """Of the fleet's log."""
        return (await self.fleet())["log_seq"]

    async def fleet(self) -> dict[str, Any]:
        """How the fleet's partition stands."""
        partitions = (await self.get("/api/status")).json["partitions"]
        return next(partition for partition in partitions if partition["context"] == "fleet")

    async def catch_up(self) -> None:
        """Wait until the read model has what the log has now."""
        await self.reach(f"fleet={await self.log_position()}")

    async def reach(self, position: str) -> None:
        """Wait until the read model has this position. A single read that names it waits two seconds at most."""
        async with asyncio.timeout(ANSWER_S):
            while (await self.get("/rest/v1/devices?limit=1", headers={"Drover-Min-Position": position})).status != 200:
                pass


@asynccontextmanager
async def calling(url: str, anon_key: str, service_key: str, *, tls: SSLContext | None = None) -> AsyncIterator[Http]:
    connector = aiohttp.TCPConnector(limit=0, ssl=tls or True)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Http(session, url, anon_key, service_key)
