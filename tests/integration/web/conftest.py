"""A small farm in tables of its own, and an application that does nothing but read them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from drover.postgres.pool import Pool, open_pool
from drover.readmodel.column import PgType
from drover.readmodel.relation import Relation, Relationship, check_relations
from drover.service.health import Health
from drover.web.application import add_route, create_application
from drover.web.postgrest.read import read
from drover.web.postgrest.sight import Sight
from tests.patient_loop import PatientLoop

TABLES = """
CREATE SCHEMA rm_test;
CREATE TABLE rm_test.devices (id uuid PRIMARY KEY, name text NOT NULL);
CREATE TABLE rm_test.jobs (
  id uuid PRIMARY KEY, title text NOT NULL, status text NOT NULL, created_at timestamptz NOT NULL, data jsonb
);
CREATE TABLE rm_test.job_assignments (
  id int PRIMARY KEY, device_id uuid NOT NULL, job_id uuid, status text NOT NULL, progress int8, tags text[]
);
"""
ROWS = """
INSERT INTO rm_test.devices SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, 'D' || n
FROM generate_series(1, 3) n;
INSERT INTO rm_test.jobs VALUES
  ('00000000-0000-0000-0000-0000000000a1', 'first',  'success', '2026-01-01T00:00:00Z',
   '{"size": 5, "tags": ["x", "y"], "deep": {"a b": "c"}, "none": null}'),
  ('00000000-0000-0000-0000-0000000000a2', 'second', 'running', '2026-01-02T00:00:00Z', '{"size": "big"}'),
  ('00000000-0000-0000-0000-0000000000a3', 'third',  'pending', '2026-01-03T00:00:00Z', NULL);
INSERT INTO rm_test.job_assignments (id, device_id, job_id, status, progress, tags) VALUES
  (1, '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000a1', 'completed', 100, '{a,b}'),
  (2, '00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-0000000000a1', 'failed', 40, '{}'),
  (3, '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000a2', 'pending', NULL, NULL),
  (4, '00000000-0000-0000-0000-000000000002', NULL, 'pending', 0, '{b}');
"""

DEVICES = Relation(
    name="devices",
    schema="rm_test",
    context="test",
    columns={"id": PgType.UUID, "name": PgType.TEXT},
    order=("name",),
    relationships={"job_assignments": Relationship("job_assignments", "to-many", "id", "device_id")},
    owner="id",
)
JOBS = Relation(
    name="jobs",
    schema="rm_test",
    context="test",
    columns={
        "id": PgType.UUID,
        "title": PgType.TEXT,
        "status": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
        "data": PgType.JSONB,
    },
    order=("created_at", "id"),
    relationships={"job_assignments": Relationship("job_assignments", "to-many", "id", "job_id")},
    aliases={"status": {"completed": "success"}},
)
JOB_ASSIGNMENTS = Relation(
    name="job_assignments",
    schema="rm_test",
    context="test",
    columns={
        "id": PgType.INTEGER,
        "device_id": PgType.UUID,
        "job_id": PgType.UUID,
        "status": PgType.TEXT,
        "progress": PgType.BIGINT,
        "tags": PgType.TEXT_ARRAY,
    },
    order=("id",),
    relationships={
        "jobs": Relationship("jobs", "to-one", "job_id", "id"),
        "devices": Relationship("devices", "to-one", "device_id", "id"),
    },
    owner="device_id",
)
RELATIONS = {relation.name: relation for relation in (DEVICES, JOBS, JOB_ASSIGNMENTS)}
check_relations(RELATIONS)


class Reader:
    """Asks the application, as a client would."""

    def __init__(self, client: TestClient, pool: Pool) -> None:
        self.client = client
        self.pool = pool
        self.sight = Sight(RELATIONS)

    async def ask(self, query: str, **headers: str) -> tuple[int, Any]:
        async with self.client.get(f"/read/{query}", headers=headers) as answer:
            return answer.status, json.loads(await answer.text())

    async def rows(self, query: str) -> Any:
        status, rows = await self.ask(query)
        assert status == 200, rows
        return rows


def pytest_asyncio_loop_factories() -> dict[str, type[PatientLoop]]:
    """Sockets and their server are in this process, and nothing here holds a lease."""
    return {"patient": PatientLoop}


@pytest.fixture
async def reader(postgres_dsn: str) -> AsyncIterator[Reader]:
    async with open_pool(postgres_dsn, "test", 2) as pool:
        await pool.execute(TABLES)
        await pool.execute(ROWS)
        app = create_application(Health(), body_bytes_max=1024)

        async def get(request: web.Request) -> web.Response:
            return await read(request, RELATIONS[request.match_info["relation"]], pool, sight=reader.sight)

        add_route(app, "GET", "/read/{relation}", get)
        async with TestClient(TestServer(app)) as client:
            reader = Reader(client, pool)
            yield reader
