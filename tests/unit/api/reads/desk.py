"""The reads over HTTP without a database: rows are what a test says, and what was asked can be looked at."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg
from aiohttp.test_utils import TestClient, TestServer

from drover.api.leads import Lead
from drover.api.reads.app import Reads
from drover.domain.contexts import CONTEXTS
from drover.eventlog.log import Partition
from drover.projection.newest import Newest
from drover.readmodel.form import placed, schema_of
from drover.service.access_tokens import issue_access_token
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.service.identity_keys import IdentityKeys
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.audit import Audit
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.people import BuiltIn
from drover.web.permissions import Permissions
from tests.unit.web.test_audit import Log as AuditLog

SECRET = "s" * 32
KEYS = IdentityKeys(("i" * 32,))
DEVICE = "00000000-0000-4000-8000-000000000001"
NOW = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)


class Row(tuple[Any, ...]):
    """As asyncpg gives them: by place and by name."""

    names: tuple[str, ...]

    def __new__(cls, **columns: Any) -> Row:
        row = super().__new__(cls, columns.values())
        row.names = tuple(columns)
        return row

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(self.names.index(place) if isinstance(place, str) else place)


class FakePool:
    """Answers by what stands in the statement; without an answer, with no rows."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[Any, ...]]] = []
        self.rows: dict[str, list[Row]] = {}
        self.fault: Exception | None = None
        self.missing: set[str] = set()

    async def fetch(self, query: str, *args: Any, timeout: float | None = None) -> list[Any]:  # noqa: ASYNC109
        self.asked.append((query, args))
        if self.fault is not None:
            raise self.fault
        if "pg_namespace" in query:
            gone = {schema_of(context) for context in self.missing}
            return [Row(schema=name) for name in args[0] if name not in gone]
        if any(placed(f"rm_{context}.") in query for context in self.missing):
            raise asyncpg.UndefinedTableError("relation does not exist")
        return next((rows for part, rows in self.rows.items() if part in query), [])


class Fresh:
    """Positions that are where a test says."""

    def __init__(self) -> None:
        self.reached = True
        self.waits: list[tuple[str, int]] = []

    async def wait(self, place: str, seq: int, timeout_s: float) -> bool:
        self.waits.append((place, seq))
        return self.reached


class FakeLog:
    version = "2.15.1"

    def __init__(self) -> None:
        self.word = "connected"
        self.found = [Lead(Partition("fleet"), "scheduler-1", NOW, 120, NOW)]

    async def leads(self) -> tuple[list[Lead], str]:
        return self.found, self.word

    async def ping(self) -> float:
        if self.word != "connected":
            raise TimeoutError
        return 0.4


class Desk:
    def __init__(
        self, client: TestClient[Any, Any], pool: FakePool, positions: Fresh, log: FakeLog, newest: Newest
    ) -> None:
        self.client = client
        self.pool = pool
        self.positions = positions
        self.log = log
        self.newest = newest
        self.accesses = AuditLog()

    async def ask(self, path: str, who: Role | None = Role.SERVICE_ROLE, **headers: str) -> tuple[int, Any]:
        async with self.client.get(path, headers=(key_of(who) if who else {}) | headers) as answer:
            return answer.status, await answer.json()


def key_of(role: Role) -> dict[str, str]:
    if role in (Role.ADMIN, Role.OPERATOR, Role.VIEWER):
        token = issue_access_token(KEYS, account_id="kim", session_id="s", role=role, now_s=time.time(), lifetime_s=600)
        return {"Authorization": f"Bearer {token}"}
    bound = UUID(DEVICE) if role is Role.DEVICE else None
    return {"apikey": issue_api_key(SECRET, role, now_s=time.time(), device_id=bound)}


@asynccontextmanager
async def desk_with(document: Callable[[], dict[str, Any]] = dict) -> AsyncIterator[Desk]:
    pool, positions, log = FakePool(), Fresh(), FakeLog()
    auth = Authenticator([SECRET], people=[BuiltIn(KEYS)])
    app = create_application(Health(), body_bytes_max=1024)
    newest = Newest(map(Partition, CONTEXTS))
    accesses = AuditLog()
    audit = Audit(accesses, Callers())
    reads = Reads(pool, Freshness(positions, newest), log, instance="api-1", document=document, audit=audit)
    add_handlers(app, reads.handlers, Access(auth, Permissions(), Callers()))
    async with TestClient(TestServer(app)) as client:
        desk = Desk(client, pool, positions, log, newest)
        desk.accesses = accesses
        yield desk
