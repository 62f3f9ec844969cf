"""The embedded PostgreSQL on a disk that becomes full: it ends itself when its own log has no room."""

import asyncio
from contextlib import suppress

import asyncpg
import pytest

from drover.embedded.postgres import postgres_server
from drover.testing.waiting import eventually
from tests.small_disk import fill, small_disk

DISK = "160m"
FAILED = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
ONLY_INTO_THE_LOG = "SELECT pg_logical_emit_message(false, 'test', repeat('x', 1000000)) FROM generate_series(1, 40)"
"""A table that cannot grow is an error of one statement, and ends nothing."""


@pytest.mark.req("YR-12")
async def test_a_postgres_that_died_of_a_full_disk_is_started_again_when_there_is_room(tmp_path):
    with small_disk(tmp_path / "postgres", DISK) as disk:
        disk.chmod(0o700)
        async with postgres_server(tmp_path) as server:
            connection = await asyncpg.connect(server.dsn)
            filler = await asyncio.to_thread(fill, disk)
            with suppress(*FAILED):
                await connection.execute(ONLY_INTO_THE_LOG)
            connection.terminate()
            await eventually(lambda: server.pid == 0)
            filler.unlink()

            async def answers():
                with suppress(*FAILED):
                    again = await asyncpg.connect(server.dsn, timeout=5)
                    await again.execute("CREATE TABLE IF NOT EXISTS after_it ()")
                    await again.close()
                    return True
                return False

            await eventually(answers)
