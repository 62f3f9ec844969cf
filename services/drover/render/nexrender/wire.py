"""HTTP calls to nexrender: bounded in time and size, measured, with typed errors. Bodies are not interpreted here."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import msgspec
from yarl import URL

from drover.render.nexrender.errors import (
    NexrenderConfused,
    NexrenderDown,
    NexrenderError,
    NexrenderForbidden,
    NexrenderRefused,
)
from drover.render.nexrender.metrics import LATENCY_MS
from drover.render.nexrender.states import shortened

API: Final = "/api/v1"
SECRET_HEADER: Final = "nexrender-secret"  # noqa: S105 - the name of the header
SECRET_CHARS_MIN: Final = 4
"""Minimum length of a secret that is hidden in answers. A shorter one protects nothing, and hiding it would make
answers unreadable."""
HIDDEN: Final = "•••".encode()
CONNECT_S: Final = 5.0
TOTAL_S: Final = 15.0
CONNECTIONS_MAX: Final = 32
HEADER_BYTES_MAX: Final = 16 * 1024
REFUSAL_CHARS_MAX: Final = 300
REFUSAL_BYTES_MAX: Final = 16 * 1024
"""Maximum of bytes that are read of a refusal's body."""
CHUNK_BYTES: Final = 64 * 1024

_STACK: Final = re.compile(r"^\s+at .*$", re.MULTILINE)
_FORBIDDEN: Final = frozenset({401, 403})
_LATER: Final = frozenset({408, 425, 429})
"""HTTP statuses of temporary refusals. After one, nexrender counts as down."""


class Wire:
    """The HTTP session with one server."""

    def __init__(self, base_url: str, secret: str, *, connect_s: float = CONNECT_S, total_s: float = TOTAL_S) -> None:
        self._base = URL(base_url.rstrip("/").removesuffix(API) + API)
        self._secret = secret
        self._headers = {SECRET_HEADER: secret} if secret else {}
        self._timeout = aiohttp.ClientTimeout(total=total_s, connect=connect_s, sock_connect=connect_s)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            # A new connection for each call: nexrender closes idle ones after 5 s, which is our poll interval.
            connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX, force_close=True),
            headers=self._headers,
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=HEADER_BYTES_MAX,
            max_field_size=HEADER_BYTES_MAX,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close()

    async def call(
        self,
        call: str,
        method: str,
        path: str,
        *,
        document: Mapping[str, Any] | None = None,
        bytes_max: int,
        absent: Collection[int] = (),
    ) -> bytes | None:
        """Send a request, and return the body of the answer; None for a status in `absent`. `path` must be escaped."""
        began = time.perf_counter()
        outcome = "ok"
        try:
            return await self._call(call, method, path, document, bytes_max, absent)
        except NexrenderError as error:
            outcome = error.outcome
            raise
        except asyncio.CancelledError:
            outcome = ""
            raise
        finally:
            if outcome:
                LATENCY_MS.labels(call, outcome).observe((time.perf_counter() - began) * 1000)

    async def _call(
        self,
        call: str,
        method: str,
        path: str,
        document: Mapping[str, Any] | None,
        bytes_max: int,
        absent: Collection[int],
    ) -> bytes | None:
        assert self._session is not None, "enter the context first"
        url = URL(f"{self._base}{path}", encoded=True)
        body = None if document is None else msgspec.json.encode(document)
        headers = None if body is None else {"Content-Type": "application/json"}
        try:
            async with self._session.request(method, url, data=body, headers=headers, allow_redirects=False) as answer:
                if answer.status in absent:
                    return None
                if answer.status >= 300:
                    await self._refuse(call, answer)
                return self._hidden_in(await _read(call, answer, bytes_max))
        except aiohttp.ClientResponseError as error:
            raise NexrenderConfused(call, f"its answer is not valid HTTP ({error.message})") from error
        except TimeoutError as error:
            raise NexrenderDown(call, f"no answer within {self._timeout.total:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise NexrenderDown(call, str(error) or "no connection") from error

    async def _refuse(self, call: str, answer: aiohttp.ClientResponse) -> None:
        status = answer.status
        if status < 400:
            to = self._hidden_in(answer.headers.get("Location", "nowhere").encode("utf-8", "replace"))
            raise NexrenderConfused(call, f"it answered {status}, to {to.decode('utf-8', 'replace'):.200}")
        text = _plain(self._hidden_in(await answer.content.read(REFUSAL_BYTES_MAX)))
        if status >= 500 or status in _LATER:
            raise NexrenderDown(call, text, status)
        if status in _FORBIDDEN:
            raise NexrenderForbidden(call, status, text)
        raise NexrenderRefused(call, status, text)

    def _hidden_in(self, said: bytes) -> bytes:
        """Hide the secret in an answer: a server that echoes its input must not put the secret into our log or rows."""
        return said if len(self._secret) < SECRET_CHARS_MIN else said.replace(self._secret.encode(), HIDDEN)


async def _read(call: str, answer: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
        body += chunk
        if len(body) > bytes_max:
            raise NexrenderConfused(call, f"its answer is longer than {bytes_max} bytes")
    return bytes(body)


def _plain(body: bytes) -> str:
    """Return the body of a refusal in one line, without nexrender's stack trace."""
    text = _STACK.sub("", body.decode("utf-8", "replace")).replace("\0", "")
    return shortened(" ".join(text.split()), REFUSAL_CHARS_MAX)
