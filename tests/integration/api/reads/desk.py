"""The reads over HTTP on a real database, and a look at the statements that they sent."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg
from aiohttp.test_utils import TestClient, TestServer

from drover.api.leads import Lead
from drover.api.reads.app import Reads
from drover.domain.contexts import CONTEXTS
from drover.eventlog.log import Partition
from drover.postgres.pool import open_pool
from drover.projection.newest import Newest
from drover.projection.positions import Positions
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.permissions import Permissions

SECRET = "s" * 32
PARTITIONS = [Partition(context) for context in CONTEXTS]


class QuietLog:
    """A log of which there is little to say."""

    version = "2.15.1"

    def __init__(self) -> None:
        self.seq = 12

    async def leads(self) -> tuple[list[Lead], str]:
        return [Lead(Partition("fleet"), "a", datetime.now(UTC), self.seq, datetime.now(UTC))], "connected"

    async def ping(self) -> float:
        return 0.5


class RecordingPool:
    """Passes on what it is asked, and remembers it."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self.whole = pool
        self.asked: list[tuple[str, tuple[Any, ...]]] = []

    async def fetch(self, query: str, *args: Any, timeout: float | None = None) -> list[Any]:  # noqa: ASYNC109
        self.asked.append((query, args))
        rows: list[Any] = await self.whole.fetch(query, *args, timeout=timeout)
        return rows


class Desk:
    def __init__(self, client: TestClient[Any, Any], pool: RecordingPool, positions: Positions) -> None:
        self.client = client
        self.pool = pool
        self.positions = positions
        self.service = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}

    async def ask(self, path: str, **headers: str) -> tuple[int, Any]:
        async with self.client.get(path, headers=self.service | headers) as answer:
            return answer.status, await answer.json()

    async def get(self, path: str) -> Any:
        status, body = await self.ask(path)
        assert status == 200, (path, body)
        return body

    async def pages(self, path: str) -> list[list[Any]]:
        """All pages of a list, from the first to the last."""
        pages: list[list[Any]] = []
        cursor = ""
        while True:
            page = await self.get(path + cursor)
            pages.append(page["items"])
            if page["next"] is None:
                return pages
            cursor = f"{'&' if '?' in path else '?'}cursor={page['next']}"

    async def rows(self, path: str) -> list[Any]:
        return [row for page in await self.pages(path) for row in page]


@asynccontextmanager
async def desk_on(dsn: str, *, connections: int = 4) -> AsyncIterator[Desk]:
    async with open_pool(dsn, "test", connections) as pool:
        recording, positions = RecordingPool(pool), Positions(PARTITIONS)
        app = create_application(Health(), body_bytes_max=1024)
        auth, log = Authenticator([SECRET]), QuietLog()
        reads = Reads(recording, Freshness(positions, Newest(PARTITIONS)), log, instance="test", document=dict)
        add_handlers(app, reads.handlers, Access(auth, Permissions(), Callers()))
        async with TestClient(TestServer(app)) as client:
            yield Desk(client, recording, positions)
