"""`GET /api/audit`: for admins, with addresses opened, and recorded itself."""

from __future__ import annotations

import csv
import io
from contextlib import asynccontextmanager
from uuid import UUID

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.api.audit.listing import AuditList
from drover.api.audit.network_addresses import NetworkAddresses
from drover.domain.contexts import CONTEXTS
from drover.eventlog.log import Partition
from drover.projection.newest import Newest
from drover.readmodel.form import placed
from drover.service.api_keys import Role
from drover.service.health import Health
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.audit import Audit
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.people import BuiltIn
from drover.web.permissions import Permissions
from tests.subject_keys import Leaders, local_keys
from tests.unit.api.reads.desk import KEYS, NOW, SECRET, Desk, FakeLog, FakePool, Fresh, Row, key_of
from tests.unit.web.test_audit import Log

pytestmark = pytest.mark.req("SE-11")

LEADERS = Leaders()
ADDRESSES = NetworkAddresses.of(local_keys("identity", leaders=LEADERS))
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ACCESS = UUID("66666666-0000-7000-8000-000000000001")


async def row(by: str = "user:kim", sealed_for: str = "user:kim", trace: str | None = TRACE) -> Row:
    return Row(
        id=ACCESS,
        at=NOW,
        by=by,
        kind="film",
        what="/api/renders/7/preview",
        user_agent="Firefox on Windows",
        address_sealed=await ADDRESSES.sealed("203.0.113.9", sealed_for),
        trace=trace,
    )


@asynccontextmanager
async def desk_with(*rows: Row):
    pool, positions, log = FakePool(), Fresh(), Log()
    pool.rows = {placed("rm_identity.access_rows"): list(rows)}
    newest = Newest(map(Partition, CONTEXTS))
    app = create_application(Health(), body_bytes_max=1024)
    audit = Audit(log, Callers())
    access = Access(Authenticator([SECRET], people=[BuiltIn(KEYS)]), Permissions(), Callers(), audit=audit)
    add_handlers(app, [AuditList(pool, Freshness(positions, newest), ADDRESSES, audit)], access)
    async with TestClient(TestServer(app)) as client:
        desk = Desk(client, pool, positions, FakeLog(), newest)
        desk.audit = log
        yield desk


async def test_an_export_has_the_entries_with_their_addresses_and_is_in_the_audit_itself():
    async with desk_with(await row(), await row(by="=cmd", sealed_for="user:lee")) as desk:
        async with desk.client.get("/api/audit/export.csv?kind=film", headers=key_of(Role.ADMIN)) as answer:
            text = await answer.text(encoding="utf-8-sig")
            assert (answer.status, answer.headers["Drover-Export-Rows"]) == (200, "2")
        lines = [*csv.DictReader(io.StringIO(text, newline=""), strict=True)]
        assert (lines[0]["by"], lines[0]["address"]) == ("user:kim", "203.0.113.9")
        assert lines[1]["by"] == "'=cmd", "a spreadsheet does not calculate it"
        assert {access.kind for access in desk.audit.recorded} == {"audit", "export"}
        status, _ = await desk.ask("/api/audit/export.json", Role.OPERATOR)
        assert status == 403


async def test_an_admin_sees_who_did_what_from_where():
    async with desk_with(await row(), await row(sealed_for="user:lee", trace=None)) as desk:
        status, page = await desk.ask("/api/audit", Role.ADMIN)
    assert status == 200
    first, moved = page["items"]
    assert first == {
        "id": str(ACCESS),
        "at": "2026-03-01T12:30:15Z",
        "by": "user:kim",
        "kind": "film",
        "what": "/api/renders/7/preview",
        "address": "203.0.113.9",
        "user_agent": "Firefox on Windows",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
    }
    assert (moved["address"], moved["trace_id"]) == (None, None), "a sealed address opens only for its actor"


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.VIEWER, Role.SERVICE_ROLE, Role.ANON])
async def test_nobody_else_sees_it(role):
    async with desk_with(await row()) as desk:
        assert (await desk.ask("/api/audit", role))[0] == 403
        assert desk.pool.asked == []


async def test_it_is_filtered_by_person_kind_and_time():
    query = "by=user:kim&kind=film,keys&from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z&limit=5"
    async with desk_with(await row()) as desk:
        assert (await desk.ask(f"/api/audit?{query}", Role.ADMIN))[0] == 200
        sql, values = desk.pool.asked[-1]
        assert "a.by = $" in sql and "a.kind = $" in sql and "a.at >= $" in sql and "a.at < $" in sql
        assert {"user:kim", "film", "keys"} <= {value for value in values if isinstance(value, str)}
        assert (await desk.ask("/api/audit?kind=gossip", Role.ADMIN))[0] == 400
        assert (await desk.ask("/api/audit?user=kim", Role.ADMIN))[0] == 400


async def test_who_reads_the_audit_is_in_it():
    async with desk_with(await row()) as desk:
        await desk.ask("/api/audit?by=user:kim", Role.ADMIN)
        assert desk.audit.lines() == [("user:kim", "audit", "/api/audit")]
        desk.audit.is_away = True
        assert (await desk.ask("/api/audit", Role.ADMIN))[0] == 200, "it was recorded this hour"
    async with desk_with(await row()) as desk:
        desk.audit.is_away = True
        assert (await desk.ask("/api/audit", Role.ADMIN))[0] == 503


async def test_without_a_leader_that_serves_keys_the_list_is_503(monkeypatch):
    async with desk_with(await row(by="user:park", sealed_for="user:park")) as desk:
        monkeypatch.setattr(LEADERS, "away", True)
        monkeypatch.setattr(ADDRESSES._personal._keys, "_kept", {})
        status, said = await desk.ask("/api/audit", Role.ADMIN)
    assert (status, said["error"]) == (503, "UNAVAILABLE")
