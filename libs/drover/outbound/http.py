"""Sends POST requests to an address that somebody else chose: resolves it once, checks it, and connects to exactly that
address.

No redirects, no proxies, no cookies; time and response size are bounded. Errors say whether the receiver can have got
the request, because callers must tell "failed" from "unknown".
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Final

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from drover.outbound.addresses import is_public, literal

CONNECT_S: Final = 5.0
ANSWER_BYTES_MAX: Final = 64 * 1024
CONNECTIONS_MAX: Final = 100
KEEPALIVE_S: Final = 2.0
"""How many seconds we keep an idle connection. Servers keep theirs longer. Otherwise we might send a request on a
connection that the server has just closed, and would not know its outcome."""
SCHEMES: Final = ("http", "https")


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes
    """The beginning of the body, up to the size limit."""


class NotCalled(Exception):
    """The request was not sent: it had no effect."""

    def __init__(self, code: str, error: str, *, permanent: bool) -> None:
        super().__init__(f"{code}: {error}")
        self.code, self.error, self.permanent = code, error, permanent


class NoAnswer(Exception):
    """The request may have arrived, but no answer came. Its outcome is unknown."""

    def __init__(self, code: str, error: str) -> None:
        super().__init__(f"{code}: {error}")
        self.code, self.error = code, error


class AddressRefused(OSError):
    """The host is, or resolves to, an address outside the public internet."""


class CheckedResolver(AbstractResolver):
    """Resolves host names, and returns only addresses that may be called. aiohttp connects to these and resolves
    nothing else."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
        results: list[ResolveResult] = []
        for family_, _, protocol, _, address in found:
            ip = str(address[0])
            if self._allow_private or is_public(ip_address(ip.partition("%")[0])):
                results.append(
                    {
                        "hostname": host,
                        "host": ip,
                        "port": port,
                        "family": family_,
                        "proto": protocol,
                        "flags": socket.AI_NUMERICHOST,
                    }
                )
        if not results:
            raise AddressRefused(f"{host} resolves to no address that may be called")
        return results

    async def close(self) -> None:
        """Close nothing, because there is nothing to close."""


class Outbound:
    """Sends the requests to one provider. `timeout_s` bounds a whole call."""

    def __init__(self, *, timeout_s: float, allow_private: bool = False) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(CONNECT_S, timeout_s))
        self._allow_private = allow_private
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        connector = aiohttp.TCPConnector(
            resolver=CheckedResolver(allow_private=self._allow_private),
            use_dns_cache=False,  # resolve and check the name again for each new connection
            limit=CONNECTIONS_MAX,
            keepalive_timeout=KEEPALIVE_S,
        )
        tracing = aiohttp.TraceConfig()
        tracing.on_request_headers_sent.append(_note_leaving)
        async with aiohttp.ClientSession(
            connector=connector,
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # a small compressed response must not become a large one
            trust_env=False,
            trace_configs=[tracing],
        ) as self._session:
            yield

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send a POST request and return the response, whatever its status. Raises NotCalled or NoAnswer."""
        target = self._checked(url)
        left = asyncio.Event()
        try:
            return await self._exchange(target, body, headers, left)
        except aiohttp.ClientConnectorError as error:
            refused = isinstance(error.os_error, AddressRefused)
            code = "address_refused" if refused else "connect_failed"
            raise NotCalled(code, _text_of(error), permanent=refused) from error
        except TimeoutError as error:
            raise _unsent_or_unknown("timed_out", error, left) from error
        except (aiohttp.ClientError, OSError) as error:
            raise _unsent_or_unknown("connection_lost", error, left) from error

    def _checked(self, url: str) -> URL:
        try:
            target = URL(url)
        except ValueError as error:
            raise NotCalled("bad_address", _text_of(error), permanent=True) from error
        if target.scheme not in SCHEMES or not target.host:
            raise NotCalled("bad_address", "an http or https address is needed", permanent=True)
        address = literal(target.host)
        # aiohttp does not call the resolver for an IP address.
        if address is not None and not self._allow_private and not is_public(address):
            raise NotCalled("address_refused", f"{address} may not be called", permanent=True)
        return target

    async def _exchange(self, url: URL, body: bytes, headers: Mapping[str, str], left: asyncio.Event) -> Answer:
        assert self._session is not None, "running() comes first"
        async with self._session.post(
            url, data=body, headers=headers, allow_redirects=False, trace_request_ctx=left
        ) as answer:
            return Answer(answer.status, answer.headers.copy(), await _first_of(answer.content))


async def _first_of(content: aiohttp.StreamReader) -> bytes:
    """Read the body up to the size limit. If reading fails, return what was read until then: the status counts even
    without the body."""
    body = bytearray()
    with suppress(aiohttp.ClientError, TimeoutError, OSError):
        while len(body) < ANSWER_BYTES_MAX and (chunk := await content.read(ANSWER_BYTES_MAX - len(body))):
            body += chunk
    return bytes(body)


async def _note_leaving(
    session: aiohttp.ClientSession, context: SimpleNamespace, sent: aiohttp.TraceRequestHeadersSentParams
) -> None:
    """Note that the request is being sent. If it fails before this, it cannot have had an effect."""
    context.trace_request_ctx.set()


def _unsent_or_unknown(code: str, error: BaseException, left: asyncio.Event) -> NotCalled | NoAnswer:
    if left.is_set():
        return NoAnswer(code, _text_of(error))
    return NotCalled(code, _text_of(error), permanent=False)


def _text_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]
