"""Migrations against a real Postgres."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from drover.postgres.migrate import Migration, MigrationChanged, load_migrations, migrate


async def test_migrating_twice_does_nothing_the_second_time(postgres_dsn: str) -> None:
    assert await migrate(postgres_dsn) == load_migrations()
    assert await migrate(postgres_dsn) == []


async def test_many_processes_may_migrate_at_once(postgres_dsn: str) -> None:
    applied = await asyncio.gather(*(migrate(postgres_dsn) for _ in range(5)))
    assert sorted(map(len, applied)) == [0, 0, 0, 0, len(load_migrations())]


async def test_a_migration_that_fails_leaves_nothing_behind_and_can_be_tried_again(postgres_dsn: str) -> None:
    broken = [Migration(1, "table", "CREATE TABLE public.t (); SELECT nonsense")]
    with pytest.raises(asyncpg.UndefinedColumnError):
        await migrate(postgres_dsn, broken)
    mended = [Migration(1, "table", "CREATE TABLE public.t ()")]
    assert await migrate(postgres_dsn, mended) == mended


async def test_an_edited_migration_is_refused(postgres_dsn: str) -> None:
    await migrate(postgres_dsn)
    first, *rest = load_migrations()
    with pytest.raises(MigrationChanged):
        await migrate(postgres_dsn, [Migration(first.number, first.name, first.sql + "\n-- edited"), *rest])
