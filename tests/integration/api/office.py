"""An api service that serves streams of given logs on a real port, and can be stopped and started again."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final

import aiohttp

from drover.api.live.live import PATH, Live
from drover.eventlog.log import EventLog
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.testing.waiting import eventually
from drover.web.access import Access
from drover.web.application import SOCKETS, add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.permissions import Permissions
from drover.web.serve import serve
from tests.integration.api.listening import Listener, listening

SECRET: Final = "s" * 32
GRACE_S: Final = 3.0


class Office:
    def __init__(self, logs: Sequence[EventLog], **options: Any) -> None:
        self.service_key = issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())
        self.anon_key = issue_api_key(SECRET, Role.ANON, now_s=time.time())
        self.url = ""
        self.app = create_application(Health(), body_bytes_max=1024)
        auth = Authenticator([SECRET])
        self.live = Live(auth, logs, **options)
        add_handlers(self.app, [self.live], Access(auth, Permissions(), Callers()))
        self._stack = AsyncExitStack()

    @property
    def streams(self) -> int:
        return len(self.app[SOCKETS])

    async def start(self) -> None:
        await self._stack.enter_async_context(self.live.running())
        await eventually(lambda: self.live.why_not_ready() is None)
        port = await self._stack.enter_async_context(serve(self.app, "127.0.0.1", 0, grace_s=GRACE_S))
        self.url = f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        await self._stack.aclose()

    def listening(self, query: str = "", **how: Any) -> AbstractAsyncContextManager[Listener]:
        return listening(self.url, self.service_key, query, **how)

    async def ask(
        self, query: str = "", *, method: str = "GET", key: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        """For answers that end: status, headers, JSON."""
        sent = {"apikey": self.service_key if key is None else key} | headers
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session,
            session.request(method, f"{self.url}{PATH}{query}", headers={n: v for n, v in sent.items() if v}) as answer,
        ):
            body = await answer.json() if await answer.read() else None
            return answer.status, dict(answer.headers), body

    async def metric(self, line: str) -> float:
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/metrics") as answer:
            text = await answer.text()
        return sum(float(found.split()[-1]) for found in text.splitlines() if found.startswith(line))


@asynccontextmanager
async def office_on(logs: Sequence[EventLog], **options: Any) -> AsyncIterator[Office]:
    office = Office(logs, **options)
    await office.start()
    try:
        yield office
    finally:
        await office.stop()
