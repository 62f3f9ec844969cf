"""`GET /api/system/health`: the health of each dependency, for monitoring.

The answer has only the fields of document 001 (saju tests and sign-in), §3.2.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import aiohttp
import msgspec
import structlog
from aiohttp import web
from nats.aio.client import Client

from drover.domain.contexts import CONTEXTS
from drover.web.answers import NO_STORE, json_answer
from drover.web.route import Answer, Route, handles
from drover.writer.acceptance import ask_in_use

PATH: Final = "/api/system/health"
PROBE_S: Final = 2.0
KEPT_S: Final = 2.0
"""How many seconds an answer is cached. The route is public, so many callers must cost as much as one."""

CONNECTED: Final = "connected"
REACHABLE: Final = "reachable"
ERROR: Final = "error"
TIMEOUT: Final = "timeout"
NOT_CONFIGURED: Final = "not_configured"
_WELL: Final = (CONNECTED, REACHABLE, NOT_CONFIGURED)

log = structlog.stdlib.get_logger("drover.cleanup")

Probe = Callable[[], Awaitable[str]]
"""A function that returns the status of a dependency. It may raise an exception or never return."""


class SystemHealth(msgspec.Struct):
    status: str
    """`healthy` or `unhealthy`."""
    timestamp: str
    version: str
    services: dict[str, str]
    """The status of each dependency: `connected`, `reachable`, `error`, `timeout` or `not_configured`."""


class Dependencies:
    def __init__(
        self,
        probes: Mapping[str, Probe | None],
        version: str,
        *,
        probe_s: float = PROBE_S,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`probes`: the probe of each dependency by its name; None for a dependency that is not configured."""
        self._probes = dict(probes)
        self._version = version
        self._probe_s = probe_s
        self._clock = clock
        self._now = now
        self._asking: asyncio.Task[SystemHealth] | None = None
        self._known: SystemHealth | None = None
        self._known_at = float("-inf")

    @handles(
        Route(
            method="GET",
            path=PATH,
            id="getSystemHealth",
            tag="system",
            summary="Health of each dependency",
            caller="anybody",
            answers={200: Answer(SystemHealth, "Healthy"), 503: Answer(SystemHealth, "Unhealthy")},
        )
    )
    async def get(self, request: web.Request) -> web.Response:
        body = await self._body()
        status = 200 if body.status == "healthy" else 503
        return json_answer(body, status=status, headers=NO_STORE)

    async def _body(self) -> SystemHealth:
        if self._known is not None and self._clock() - self._known_at < KEPT_S:
            return self._known
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask_all(), name="system-health")
        return await asyncio.shield(self._asking)

    async def _ask_all(self) -> SystemHealth:
        try:
            found = await asyncio.gather(*(self._ask(name) for name in self._probes))
            services = dict(zip(self._probes, found, strict=True))
            well = all(word in _WELL for word in found)
            self._known = SystemHealth(
                status="healthy" if well else "unhealthy",
                timestamp=self._now().strftime("%Y-%m-%dT%H:%M:%SZ"),
                version=self._version,
                services=services,
            )
            self._known_at = self._clock()
            return self._known
        finally:
            self._asking = None

    async def _ask(self, name: str) -> str:
        probe = self._probes[name]
        if probe is None:
            return NOT_CONFIGURED
        try:
            async with asyncio.timeout(self._probe_s):
                return await probe()
        except TimeoutError:
            return TIMEOUT
        except Exception as error:  # any error means unhealthy; callers need not know more
            log.warning("dependency_unwell", dependency=name, error=type(error).__name__)
            return ERROR


def database(pool: Any) -> Probe:
    async def ask() -> str:
        await pool.fetchrow("SELECT 1", timeout=PROBE_S)
        return CONNECTED

    return ask


def nats(client: Any) -> Probe:
    async def ask() -> str:
        if not client.is_connected:
            return ERROR
        await client.flush(timeout=PROBE_S)
        return CONNECTED

    return ask


def writers(client: Client) -> Probe:
    """Make a probe that checks whether every writer accepts commands. A refusal is explained in the log only, because
    the route is public."""

    async def ask() -> str:
        refused = [one.refusal for one in await ask_in_use(client, CONTEXTS) if one.refusal is not None]
        for refusal in refused:
            log.warning("commands_refused", code=refusal.code, why=refusal.why, remedy=refusal.remedy)
        return ERROR if refused else CONNECTED

    return ask


def address(url: str) -> Probe:
    """Make a probe that checks whether a server answers with a status below 500. 401 counts as reachable: the probe
    sends no key."""

    async def ask() -> str:
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(url, allow_redirects=False) as answer,
        ):
            return REACHABLE if answer.status < 500 else ERROR

    return ask
