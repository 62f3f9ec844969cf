"""Applies the numbered SQL files of `migrations/` in order, once each, under a lock.

Read models are not migrated: they are computed from the log, and rebuilt when their tables change
(`drover.projection.read_model`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import asyncpg
import msgspec
import structlog

from drover.domain.errors import DroverError
from drover.postgres.pool import Connection, connect

APPLICATION: Final = "drover-migrate"

_FILE_NAME: Final = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_LOCK: Final = "SELECT pg_advisory_lock(hashtextextended('drover.migrations', 0))"
_UNLOCK: Final = "SELECT pg_advisory_unlock(hashtextextended('drover.migrations', 0))"
_JOURNAL: Final = """
CREATE SCHEMA IF NOT EXISTS drover;
CREATE TABLE IF NOT EXISTS drover.migrations (
  number     int PRIMARY KEY,
  name       text NOT NULL,
  checksum   text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);
"""
_APPLIED: Final = "SELECT number, name, checksum FROM drover.migrations ORDER BY number"
_RECORD: Final = "INSERT INTO drover.migrations (number, name, checksum) VALUES ($1, $2, $3)"

log = structlog.get_logger("drover.postgres")


class Migration(msgspec.Struct, frozen=True):
    """One numbered SQL file."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def file(self) -> str:
        return f"{self.number:04d}_{self.name}.sql"


class MigrationChanged(DroverError):
    """A migration that this database already has was edited afterwards."""

    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(f"{file} was edited after it was applied. Restore it, and put the change into a new file.")


class MigrationGap(DroverError):
    """The numbers of the migration files, or of the applied ones, are not 1, 2, 3, …"""

    def __init__(self, expected: int, found: str) -> None:
        self.expected, self.found = expected, found
        super().__init__(
            f"Migration {expected:04d} is missing, found {found}. Number the files without gaps or repeats."
        )


def load_migrations(folder: Traversable | None = None) -> list[Migration]:
    """Read the migration files in order, by default those of Drover."""
    folder = folder or files("drover.postgres") / "migrations"
    migrations: list[Migration] = []
    for file in sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name):
        expected = len(migrations) + 1
        if (match := _FILE_NAME.fullmatch(file.name)) is None or int(match[1]) != expected:
            raise MigrationGap(expected, file.name)
        migrations.append(Migration(expected, match[2], file.read_text(encoding="utf-8")))
    return migrations


async def migrate(target: str | Connection, migrations: Sequence[Migration] | None = None) -> list[Migration]:
    """Apply the pending migrations and return them. Several processes may call it at the same time."""
    wanted = load_migrations() if migrations is None else migrations
    if isinstance(target, str):
        async with connect(target, APPLICATION) as connection:
            return await _migrate(connection, wanted)
    return await _migrate(target, wanted)


async def _migrate(connection: Connection, wanted: Sequence[Migration]) -> list[Migration]:
    await connection.execute(_LOCK)
    try:
        await connection.execute(_JOURNAL)
        pending = outstanding(wanted, await applied(connection))
        for migration in pending:
            async with connection.transaction():
                await connection.execute(migration.sql)
                await connection.execute(_RECORD, migration.number, migration.name, migration.checksum)
            log.info("migrated", file=migration.file)
        return pending
    finally:
        if not connection.is_closed():
            await connection.execute(_UNLOCK)


async def applied(connection: Connection) -> list[tuple[int, str, str]]:
    """Return number, name and checksum of the applied migrations; empty for a new database."""
    try:
        return [(row["number"], row["name"], row["checksum"]) for row in await connection.fetch(_APPLIED)]
    except asyncpg.UndefinedTableError:
        return []


def outstanding(wanted: Sequence[Migration], applied: Iterable[tuple[int, str, str]]) -> list[Migration]:
    """Return the migrations that are not applied yet. Raises MigrationGap or MigrationChanged if files and database
    contradict each other. Without I/O."""
    done = 0
    for number, name, checksum in applied:
        done += 1
        if number != done:
            raise MigrationGap(done, f"{number:04d}_{name}.sql in the database")
        if number > len(wanted):
            # A newer release migrated this database, as in a rolling update. Migrations are additive: go on.
            log.warning("database_is_newer", file=f"{number:04d}_{name}.sql")
        elif wanted[number - 1].checksum != checksum:
            raise MigrationChanged(wanted[number - 1].file)
    return list(wanted[done:])
