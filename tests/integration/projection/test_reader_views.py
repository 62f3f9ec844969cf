"""People read with SQL: 003 §7.2 runs as it is, as a role that may do nothing else."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest
import structlog

from drover.eventlog.log import Partition
from drover.eventlog.memory import MemoryLog
from drover.postgres.pool import connect
from drover.projection import reader_views
from drover.projection.reader_views import READER, ensure_reader_views
from drover.projection.rebuild import Rebuild
from drover.projection.runtime import Runner
from drover.projector.app import PROJECTIONS
from drover.projector.identity import IDENTITY_PROJECTION
from drover.projector.render import RENDER_PROJECTION
from drover.readmodel.form import placed, schema_of
from drover.readmodel.models import RELATIONS
from drover.testing.waiting import eventually
from tests.integration.projection.studio import Studio

RM = schema_of("render")
OLDEST = """
SELECT id, composition_id, gfx_data, cue_item_id
FROM render_queue
WHERE status = 'pending'
ORDER BY created_at ASC
LIMIT 1;
"""
PENDING = """
SELECT COUNT(*) as pending_count
FROM render_queue
WHERE status = 'pending'
  AND created_at > NOW() - INTERVAL '1 hour';
"""
AVERAGE = """
SELECT AVG(EXTRACT(EPOCH FROM (completed_at - started_at))) as avg_duration_seconds
FROM render_queue
WHERE status = 'completed'
  AND completed_at > NOW() - INTERVAL '1 day'
"""
AVERAGE_ENDS = """ORDER BY completed_at DESC
LIMIT 100;
"""
SUCCESS = """
SELECT
  COUNT(CASE WHEN status = 'completed' THEN 1 END)::float / COUNT(*) * 100 as success_rate
FROM render_queue
WHERE created_at > NOW() - INTERVAL '24 hours'
  AND status IN ('completed', 'failed');
"""
WORKERS = """
SELECT COUNT(DISTINCT worker_id) as active_workers
FROM render_queue
WHERE status IN ('preparing', 'rendering', 'encoding', 'uploading')
  AND lock_expires_at > NOW();
"""
"""003 §3.2 and §7.2, letter by letter."""


@pytest.fixture
def studio(dsn, read_model) -> Studio:
    return Studio(dsn, read_model.connection)


@asynccontextmanager
async def projecting(studio: Studio, schema: str = "public"):
    async with Runner(RENDER_PROJECTION, studio.log, studio._dsn, reader_schema=schema) as runner:
        await eventually(lambda: runner.active and runner.checkpoint.seq == studio.head.seq)
        yield runner


@asynccontextmanager
async def reading(dsn: str):
    """As an account that was given the role, and has nothing else."""
    async with connect(dsn, "test") as connection:
        await connection.execute(f"SET SESSION AUTHORIZATION {READER}")
        yield connection


async def filled(studio: Studio) -> None:
    await studio.completed(ago=60, took=50)
    await studio.completed(ago=30, took=70)
    await studio.render()
    claimed = (await studio.render()).claimed()
    claimed.lease_until = studio.ago(-1800)
    await studio.commit(claimed)


@pytest.mark.req("DI-17")
async def test_the_sql_of_003_runs_as_it_is(studio, dsn):
    await filled(studio)
    async with projecting(studio), reading(dsn) as reader:
        assert await reader.fetchval(PENDING) == 1
        oldest = await reader.fetchrow(OLDEST)
        assert (oldest["id"], oldest["gfx_data"]) == (3, None), "what is sealed is null for readers"
        assert await reader.fetchval(AVERAGE) == pytest.approx(60, abs=1)
        assert await reader.fetchval(SUCCESS) == 100.0
        assert await reader.fetchval(WORKERS) == 1


@pytest.mark.req("DI-17")
async def test_the_average_of_003_is_refused_by_postgres_itself(studio, dsn):
    """It orders an aggregate by a column: no table of that name could make it run. Without that line it does."""
    async with projecting(studio), reading(dsn) as reader:
        with pytest.raises(asyncpg.GroupingError):
            await reader.fetchval(AVERAGE + AVERAGE_ENDS)
    await studio.connection.execute(
        "CREATE TEMP TABLE render_queue (status text, started_at timestamptz, completed_at timestamptz)"
    )
    with pytest.raises(asyncpg.GroupingError):
        await studio.connection.fetchval(AVERAGE + AVERAGE_ENDS)


@pytest.mark.req("DI-17")
async def test_every_relation_of_the_seeds_can_be_read_without_what_is_personal(dsn):
    async with connect(dsn, "test") as connection:
        for projection in PROJECTIONS:
            async with Runner(projection, MemoryLog(Partition(projection.context)), dsn, reader_schema="public") as one:
                await eventually(lambda one=one: one.active)
        found = await connection.fetch("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
    names = {row["relname"] for row in found}
    assert names == {one.name for one in RELATIONS.values() if not one.united and one.context != "identity"}
    columns = {}
    async with reading(dsn) as reader:
        for name in names:
            statement = await reader.prepare(f"SELECT * FROM {name}")
            assert await statement.fetch() is not None
            columns[name] = [one.name for one in statement.get_attributes()]
    assert "gfx_data_error" not in columns["render_queue"]
    assert not {"title", "body"} & {*columns["alarm"]}
    assert IDENTITY_PROJECTION.reader_views == ()


@pytest.mark.req("DI-17")
async def test_the_role_may_read_the_views_and_nothing_else(studio, dsn):
    await filled(studio)
    async with projecting(studio), reading(dsn) as reader:
        for refused in (
            placed("SELECT * FROM rm_render.render_queue"),
            placed("SELECT * FROM rm_render.render_gfx"),
            "SELECT * FROM drover.checkpoints",
            "UPDATE render_queue SET status = 'completed'",
            "DELETE FROM render_queue",
            "CREATE TABLE public.mine (id int)",
        ):
            with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.ObjectNotInPrerequisiteStateError)):
                await reader.execute(refused)
        assert await studio.connection.fetchval("SELECT NOT rolcanlogin FROM pg_roles WHERE rolname = $1", READER)


@pytest.mark.req("DI-17")
async def test_a_swap_takes_the_views_along(studio, dsn):
    await filled(studio)
    async with projecting(studio) as runner, reading(dsn) as reader:
        await studio.connection.execute("CREATE VIEW my_own AS SELECT count(*) AS many FROM public.render_queue")
        async with Rebuild(RENDER_PROJECTION, [studio.log], dsn) as rebuild:
            await rebuild.fold()
            await rebuild.swap()
        assert await reader.fetchval("SELECT count(*) FROM render_queue") == 4
        await studio.render()
        await eventually(lambda: runner.checkpoint.seq == studio.head.seq)
        assert await reader.fetchval("SELECT count(*) FROM render_queue") == 5, "it reads the tables that are live now"
        assert await studio.connection.fetchval("SELECT many FROM my_own") == 5, "a view of somebody else's goes along"
        schemas = await studio.connection.fetch("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'rm_render%'")
        assert [row["nspname"] for row in schemas] == [RM]


@pytest.mark.req("DI-17")
async def test_a_swap_waits_for_a_reader_and_projectors_do_not(studio, dsn):
    await filled(studio)
    async with projecting(studio) as runner, reading(dsn) as reader:
        async with Rebuild(RENDER_PROJECTION, [studio.log], dsn) as rebuild:
            await rebuild.fold()
            async with reader.transaction():
                await reader.fetchval("SELECT count(*) FROM render_queue")
                swapping = asyncio.create_task(rebuild.swap())
                await studio.render()
                await eventually(lambda: runner.checkpoint.seq == studio.head.seq)
                assert not swapping.done()
            await swapping
        assert await reader.fetchval("SELECT count(*) FROM render_queue") == 5


@pytest.mark.req("DI-17")
async def test_objects_of_others_are_never_replaced(studio, dsn):
    await studio.connection.execute("CREATE TABLE public.render_queue (mine text)")
    await studio.connection.execute("INSERT INTO public.render_queue VALUES ('kept')")
    await studio.connection.execute("CREATE VIEW public.render_workers AS SELECT 1 AS mine")
    await filled(studio)
    with structlog.testing.capture_logs() as lines:
        async with projecting(studio), Rebuild(RENDER_PROJECTION, [studio.log], dsn) as rebuild:
            await rebuild.fold()
            await rebuild.swap()
    assert await studio.connection.fetchval("SELECT mine FROM public.render_queue") == "kept"
    assert await studio.connection.fetchval("SELECT mine FROM public.render_workers") == 1
    assert await studio.connection.fetchval("SELECT count(*) FROM public.render_queue_audit") > 0
    named = {line["view"] for line in lines if line["event"] == "reader_view_not_made"}
    assert named == {"public.render_queue", "public.render_workers"}


@pytest.mark.req("DI-17")
async def test_the_schema_is_a_choice(studio):
    await filled(studio)
    async with projecting(studio, "studio_reports"):
        assert await studio.connection.fetchval("SELECT count(*) FROM studio_reports.render_queue") == 4
        assert await studio.connection.fetchval("SELECT to_regclass('public.render_queue')") is None


@pytest.mark.req("DI-17")
async def test_a_second_start_changes_nothing(studio, dsn):
    await filled(studio)
    async with projecting(studio):
        pass
    with structlog.testing.capture_logs() as lines:
        async with connect(dsn, "test") as connection:
            await ensure_reader_views(connection, RENDER_PROJECTION, "public")
    assert not [line for line in lines if line["event"] == "reader_views_made"]


@pytest.mark.req("DI-17")
async def test_an_account_that_may_not_create_them_says_so_and_goes_on(studio, dsn):
    await filled(studio)
    async with projecting(studio, "elsewhere"):
        pass
    await studio.connection.execute(
        "CREATE ROLE plain_account" if not await _has(studio, "plain_account") else "SELECT"
    )
    with structlog.testing.capture_logs() as lines:
        async with connect(dsn, "test") as connection:
            await connection.execute("SET SESSION AUTHORIZATION plain_account")
            await ensure_reader_views(connection, RENDER_PROJECTION, "public")
    (line,) = [line for line in lines if line["log_level"] == "warning"]
    assert line["event"] == "reader_views_not_made"


@pytest.mark.req("DI-17")
async def test_the_role_is_optional(studio, dsn, monkeypatch):
    monkeypatch.setattr(reader_views, "READER", "a_role_that_nobody_made")
    await filled(studio)
    async with projecting(studio, "elsewhere"):
        pass
    await studio.connection.execute("DROP SCHEMA elsewhere CASCADE; DROP ROLE a_role_that_nobody_made")
    await studio.connection.execute(
        "CREATE ROLE modest_account" if not await _has(studio, "modest_account") else "SELECT"
    )
    await studio.connection.execute(
        f"GRANT USAGE, CREATE ON SCHEMA public TO modest_account; GRANT USAGE ON SCHEMA {RM} TO modest_account; "
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {RM} TO modest_account; "
        "GRANT USAGE ON SCHEMA drover TO modest_account; GRANT SELECT ON ALL TABLES IN SCHEMA drover TO modest_account"
    )
    with structlog.testing.capture_logs() as lines:
        async with connect(dsn, "test") as connection:
            await connection.execute("SET SESSION AUTHORIZATION modest_account")
            await ensure_reader_views(connection, RENDER_PROJECTION, "public")
            assert await connection.fetchval("SELECT count(*) FROM render_queue") == 4
    assert "reader_role_not_made" in [line["event"] for line in lines]
    assert not await _has(studio, "a_role_that_nobody_made")


async def _has(studio: Studio, role: str) -> bool:
    return bool(await studio.connection.fetchval("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", role))


def test_the_page_names_the_role_and_the_setting():
    page = Path("docs/renders.md").read_text(encoding="utf-8")
    assert READER in page and "DROVER_READER_SCHEMA" in page
