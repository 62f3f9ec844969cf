"""The HTTP client of commands that operate a farm. It turns every failure into an error that says what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import uuid4

import aiohttp
import msgspec
from yarl import URL

from drover.cli.errors import (
    CertificateUntrusted,
    InputRefused,
    KeyNotAccepted,
    NotDrover,
    NotThere,
    PlatformTroubled,
    Refused,
    ServerAway,
)
from drover.cli.operations.access import Access, find_access
from drover.cli.server_options import Server
from drover.service.reasons import reason_of

Row = dict[str, Any]

CONNECT_S: Final = 5.0
ANSWER_S: Final = 30.0
"""Longer than the platform itself waits for anything, so that its own answer arrives."""
ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
PAGE_ROWS: Final = 100
TRIES: Final = 4
"""How often a request is sent if the platform asks to repeat it. A write has the same idempotency key each time."""
RETRY_S_MAX: Final = 5.0
"""If the platform asks to wait longer than this, the command ends with its error."""
USER_AGENT: Final = "drover-cli"
IDS_PER_READ_MAX: Final = 100

_RETRIED: Final = (429, 503)


class Client:
    """Calls one platform with one key."""

    def __init__(self, session: aiohttp.ClientSession, access: Access) -> None:
        self._session = session
        self.access = access

    async def get(self, path: str, **query: Any) -> Any:
        """Read a document. Parameters that are None or empty are left out; a tuple is a list of values."""
        return await self._call("GET", path, query)

    async def listed(self, path: str, limit: int, **query: Any) -> tuple[list[Row], bool]:
        """Read the first `limit` items of a list of `/api`, page by page. Also returns whether there are more."""
        found: list[Row] = []
        cursor: str | None = None
        while True:
            page = await self.get(path, limit=min(limit - len(found), PAGE_ROWS), cursor=cursor, **query)
            found += page["items"]
            cursor = page.get("next")
            if cursor is None or len(found) >= limit:
                return found, cursor is not None

    async def rows(self, relation: str, **query: Any) -> list[Row]:
        """Read rows of `/rest/v1`, with its filters."""
        found: list[Row] = await self.get(f"/rest/v1/{relation}", **query)
        return found

    async def by_id(self, relation: str, ids: list[str], **query: Any) -> list[Row]:
        """Read the rows with these ids, some at a time."""
        found: list[Row] = []
        for first in range(0, len(ids), IDS_PER_READ_MAX):
            some = ",".join(ids[first : first + IDS_PER_READ_MAX])
            found += await self.rows(relation, id=f"in.({some})", **query)
        return found

    async def create(self, relation: str, row: Row) -> Row:
        """Insert a row, and return it as the platform shows it."""
        made = await self._call("POST", f"/rest/v1/{relation}", {}, row, {"Prefer": "return=representation"})
        return _only(made)

    async def upsert(self, relation: str, key: str, row: Row) -> Row:
        """Insert a row, or change the one that has the same key, and return it."""
        prefer = {"Prefer": "return=representation,resolution=merge-duplicates"}
        return _only(await self._call("POST", f"/rest/v1/{relation}", {"on_conflict": key}, row, prefer))

    async def delete(self, relation: str, id_: Any) -> None:
        await self._call("DELETE", f"/rest/v1/{relation}", {"id": f"eq.{id_}"})

    async def change(self, relation: str, column: str, id_: Any, change: Row) -> Row:
        """Change the row with this key, and return it."""
        query = {column: f"eq.{id_}"}
        changed = await self._call("PATCH", f"/rest/v1/{relation}", query, change, {"Prefer": "return=representation"})
        return _only(changed) or {column: id_}

    async def send(self, method: str, path: str, body: Row | None = None) -> Any:
        """Send a command that is no row."""
        return await self._call(method, path, {}, body)

    async def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: Row | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        sent = dict(headers or {})
        if method != "GET":
            sent["Idempotency-Key"] = str(uuid4())
        url = URL(self.access.url + path, encoded=True).extend_query(_pairs(query))
        for again in reversed(range(TRIES)):
            status, answered, raw = await self._exchange(method, url, body, sent)
            if status < 300:
                return self._decoded(raw) if raw else None
            if status < 400:  # followed, it would take the key to another address; and nothing was done
                raise self._not_drover(f"it answers {status}, to {answered.get('Location') or 'an unknown address'}")
            wait_s = _retry_after_s(answered)
            if not again or status not in _RETRIED or wait_s > RETRY_S_MAX:
                raise self._refusal(status, raw)
            await asyncio.sleep(wait_s)
        raise AssertionError("the last try returns or raises")

    async def _exchange(
        self, method: str, url: URL, body: Row | None, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], bytes]:
        data = None if body is None else msgspec.json.encode(body)
        access = self.access
        try:
            async with self._session.request(method, url, data=data, headers=headers, allow_redirects=False) as answer:
                return answer.status, answer.headers, await _read(answer.content)
        except aiohttp.ClientConnectorCertificateError as error:
            raise CertificateUntrusted(access.url, reason_of(error.certificate_error), access.source) from error
        except aiohttp.ClientConnectorError as error:
            raise ServerAway(access.url, reason_of(error.os_error), access.source, access.advice) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:  # TimeoutError is an OSError
            raise ServerAway(access.url, reason_of(error), access.source, access.advice) from error

    def _decoded(self, raw: bytes) -> Any:
        try:
            return msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._not_drover("its answer is no JSON") from error

    def _refusal(self, status: int, raw: bytes) -> Refused | ServerAway:
        try:
            body = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            body = None
        message = body.get("message") if isinstance(body, dict) else None
        if not isinstance(message, str):
            return self._not_drover(f"it answers {status}")
        code = str(body.get("code") or body.get("error") or "")
        hint = body.get("hint") if isinstance(body.get("hint"), str) else None
        if status == 401:
            return KeyNotAccepted(code, message, hint, self.access.key_source)
        kind = _KINDS.get(status) or (PlatformTroubled if status >= 500 or status == 429 else Refused)
        return kind(status, code, message, hint)

    def _not_drover(self, reason: str) -> NotDrover:
        access = self.access
        return NotDrover(access.url, f"{reason}; is it another program?", access.source, access.advice)


_KINDS: Final[Mapping[int, type[Refused]]] = {400: InputRefused, 404: NotThere, 413: InputRefused, 422: InputRefused}


@asynccontextmanager
async def client_of(server: Server) -> AsyncIterator[Client]:
    """Find the platform. No request is sent yet."""
    access = find_access(server)
    if not access.key.isascii() or any(character.isspace() for character in access.key):
        raise KeyNotAccepted("INVALID_TOKEN", "it has characters that no key has", None, access.key_source)
    async with client_at(access, {"apikey": access.key}) as client:
        yield client


@asynccontextmanager
async def client_at(access: Access, headers: Mapping[str, str]) -> AsyncIterator[Client]:
    """Make a client of this platform, which sends these headers. No request is sent yet."""
    headers = {**headers, "User-Agent": USER_AGENT, "Content-Type": "application/json"}
    timeout = aiohttp.ClientTimeout(total=ANSWER_S, sock_connect=CONNECT_S)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        yield Client(session, access)


async def _read(content: aiohttp.StreamReader) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in content.iter_any():
        parts.append(part)
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            raise ValueError(f"the answer has more than {ANSWER_BYTES_MAX} bytes")
    return b"".join(parts)


def _pairs(query: Mapping[str, Any]) -> list[tuple[str, str]]:
    joined = {name: ",".join(value) if isinstance(value, tuple) else value for name, value in query.items()}
    return [(name, str(value)) for name, value in joined.items() if value not in (None, "")]


def _retry_after_s(headers: Mapping[str, str]) -> float:
    try:
        return float(headers.get("Retry-After", "1"))
    except ValueError:
        return RETRY_S_MAX + 1


def _only(rows: Any) -> Row:
    row: Row = rows[0] if rows else {}
    return row
