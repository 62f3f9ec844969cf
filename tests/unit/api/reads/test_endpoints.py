"""Who may read, how fresh the answer is, and what callers get while the read model is unavailable."""

from __future__ import annotations

import asyncpg
import pytest

from drover.domain.contexts import CONTEXTS
from drover.readmodel.form import schema_of
from drover.service.api_keys import Role
from tests.contract import routes
from tests.unit.api.reads.desk import desk_with, key_of

SOMETHING = {"id": "00000000-0000-4000-8000-000000000001", "context": "fleet", "seq": "1", "line": "0"}
SOMETHING |= {"user_id": "ann", "page_id": "p"}
PATHS = [
    route.path.format_map(SOMETHING) if "render" not in route.path else route.path.replace("{id}", "1")
    for route in routes.READS
]
LISTS = [route.path for route in routes.READS if "{" not in route.path and "list" in route.id]
pytestmark = pytest.mark.req("EV-05")


@pytest.mark.parametrize("path", PATHS)
async def test_people_and_the_back_office_may_read_and_nobody_else(desk, path):
    for role in (Role.ADMIN, Role.OPERATOR, Role.VIEWER, Role.SERVICE_ROLE):
        status, _ = await desk.ask(path, role)
        assert status in (200, 404), (role, path)
    desk.pool.asked.clear()
    for role in (Role.ANON, Role.DEVICE):
        status, body = await desk.ask(path, role)
        assert (status, body["error"]) == (403, "42501")
    status, body = await desk.ask(path, None)
    assert (status, body) == (401, body | {"error": "UNAUTHORIZED", "message": "Missing token"})
    assert desk.pool.asked == []


@pytest.mark.parametrize("path", LISTS)
async def test_while_the_database_is_away_lists_are_503_with_a_hint(desk, path):
    for fault in (ConnectionRefusedError(), asyncpg.TooManyConnectionsError(), TimeoutError()):
        desk.pool.fault = fault
        status, body = await desk.ask(path)
        assert (status, body["error"]) == (503, "UNAVAILABLE")
        assert body["hint"]


@pytest.mark.parametrize("path", LISTS)
async def test_a_context_whose_schema_is_not_there_gives_an_empty_list(desk, path):
    desk.pool.missing = set(CONTEXTS)
    assert await desk.ask(path) == (200, {"items": [], "next": None})


async def test_a_context_that_has_a_schema_without_its_table_is_503(desk):
    desk.pool.missing = {"render"}
    assert (await desk.ask("/api/renders"))[0] == 200

    async def half_there(query, *args, **options):
        if "pg_namespace" in query:
            return [{"schema": schema_of("render")}]
        raise asyncpg.UndefinedTableError("no such table")

    desk.pool.fetch = half_there
    assert (await desk.ask("/api/renders"))[0] == 503


async def test_a_read_waits_for_its_own_context_and_one_over_all_contexts_for_each(desk):
    position = {"Drover-Min-Position": "fleet=7,render=5"}
    await desk.ask("/api/devices", **position)
    assert desk.positions.waits == [("fleet", 7)]
    desk.positions.waits.clear()
    await desk.ask("/api/events", **position)
    assert sorted(desk.positions.waits) == [("fleet", 7), ("render", 5)]
    desk.positions.reached = False
    desk.pool.asked.clear()
    status, body = await desk.ask("/api/devices", **position)
    assert (status, body["error"]) == (503, "READ_MODEL_BEHIND")
    assert desk.pool.asked == []


async def test_answers_are_kept_by_nobody_on_the_way(desk):
    async with desk.client.get("/api/devices", headers={"apikey": "x"}) as refused:
        assert refused.status == 401
    async with desk.client.get("/api/devices", headers=key_of(Role.VIEWER)) as answer:
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.content_type == "application/json"


async def test_the_document_is_for_anybody():
    async with desk_with(lambda: {"openapi": "3.1.0"}) as desk:
        assert await desk.ask("/api/openapi.json", None) == (200, {"openapi": "3.1.0"})
