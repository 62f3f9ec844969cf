"""Views for people who read with SQL, under the names that clients use: `SELECT … FROM render_queue` runs as it is.

The operator chooses their schema, which may have objects of other owners. Only views with our mark in their comment are
ever replaced. Views read with the rights of their owner, so their readers need no rights on the tables. They keep their
names when the form of a read model changes: once the new form has caught up, one transaction makes all of them read the
new schema.
"""

from __future__ import annotations

import hashlib
from typing import Final

import asyncpg
import structlog

from drover.postgres.pool import Connection
from drover.projection.identifiers import quoted
from drover.projection.projection import Projection
from drover.readmodel.reader_views import ReaderView

READER: Final = "drover_reader"
"""The role that may read the views, and nothing else. Nobody signs in as it: grant it to accounts of your own."""
IN_USE_S: Final = 180.0
"""If a newer form was used within this many seconds, the views keep reading it. Projectors note every minute that they
use their form."""
MARK: Final = "drover.reader_view"

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('drover.reader_views', 0))"
_OID: Final = "SELECT to_regnamespace(quote_ident($1))::oid::int8"
_THERE: Final = """
SELECT obj_description(c.oid, 'pg_class') AS mark FROM pg_class AS c
WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND c.relname = $2
"""
_COLUMNS: Final = """
SELECT a.attname AS name FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND c.relname = $2 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_SCHEMAS: Final = """
SELECT DISTINCT n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_description AS d ON d.objoid = c.oid AND d.classoid = 'pg_class'::regclass AND d.objsubid = 0
WHERE c.relkind = 'v' AND d.description LIKE $1
"""
_CAUGHT_UP: Final = "SELECT bool_and(caught_up_at IS NOT NULL) FROM drover.checkpoints WHERE schema = $1"
_NEWER: Final = """
SELECT EXISTS (
  SELECT FROM drover.read_models AS other JOIN drover.read_models AS own ON own.schema = $2
  WHERE other.schema = $1 AND other.version > own.version AND other.used_at > now() - make_interval(secs => $3)
)
"""
_ROLE: Final = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)"
_MAY_CREATE_ROLES: Final = "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"

log = structlog.get_logger("drover.projection")


async def ensure_reader_views(connection: Connection, projection: Projection, schema: str) -> None:
    """Make the views that are missing or out of date, if the read model has caught up with the log. Without the rights
    for it, log that and go on."""
    if not projection.reader_views:
        return
    try:
        async with connection.transaction():
            if not await connection.fetchval(_CAUGHT_UP, projection.schema):
                return
            if await connection.fetchval(_OID, schema) is None:
                await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
            await make_reader_views(connection, projection, schema)
    except asyncpg.InsufficientPrivilegeError as error:
        log.warning("reader_views_not_made", schema=schema, context=projection.context, why=str(error))


async def renew_reader_views(connection: Connection, projection: Projection) -> None:
    """Let existing views read the new tables. Called after a swap, in the same transaction."""
    for row in await connection.fetch(_SCHEMAS, f"{MARK} rm_{projection.context}.%"):
        await make_reader_views(connection, projection, row["nspname"])


async def make_reader_views(connection: Connection, projection: Projection, schema: str) -> None:
    await connection.execute(_LOCK)
    has_role = await _ensure_role(connection)
    oid = await connection.fetchval(_OID, projection.schema)
    made = 0
    for view in projection.reader_views:
        made += await _make(connection, view, projection, schema, oid, has_role=has_role)
    if made:
        if has_role:
            await connection.execute(f"GRANT USAGE ON SCHEMA {quoted(schema)} TO {READER}")
        log.info("reader_views_made", schema=schema, context=projection.context, views=made)


async def _make(
    connection: Connection, view: ReaderView, projection: Projection, schema: str, oid: int, *, has_role: bool
) -> bool:
    select = await _select(connection, view, projection.schema, schema)
    # With the oid, because the new schema has the same name after a swap, while the view still reads the old one.
    digest = hashlib.sha256(f"{oid} {select} {has_role}".encode()).hexdigest()[:16]
    ours = f"{MARK} rm_{projection.context}.{view.name} "
    mark = f"{ours}{digest} {projection.schema}"
    there = await connection.fetchrow(_THERE, schema, view.name)
    if there is not None and not (there["mark"] or "").startswith(ours):
        log.warning("reader_view_not_made", view=f"{schema}.{view.name}", why="there is another object of this name")
        return False
    if there is not None and (there["mark"] == mark or await _is_newer(connection, there["mark"], projection)):
        return False
    name = f"{quoted(schema)}.{quoted(view.name)}"
    await _replace(connection, name, select)
    await connection.execute(f"COMMENT ON VIEW {name} IS '{mark}'")
    if has_role:
        await connection.execute(f"GRANT SELECT ON {name} TO {READER}")
    return True


async def _select(connection: Connection, view: ReaderView, source: str, schema: str) -> str:
    """Make the query of a view. Columns that it has already come first, because others can only be added at the end."""
    before = [row["name"] for row in await connection.fetch(_COLUMNS, schema, view.name)]
    wanted = [*view.columns, *view.blank]
    ordered = [*(name for name in before if name in wanted), *(name for name in wanted if name not in before)]
    items = (f"NULL::jsonb AS {quoted(name)}" if name in view.blank else quoted(name) for name in ordered)
    return f"SELECT {', '.join(items)} FROM {quoted(source)}.{quoted(view.name)}"  # noqa: S608


async def _is_newer(connection: Connection, mark: str, projection: Projection) -> bool:
    """Return whether a view reads a newer form that is in use."""
    read = mark.rpartition(" ")[2]
    return bool(await connection.fetchval(_NEWER, read, projection.schema, IN_USE_S))


async def _replace(connection: Connection, name: str, select: str) -> None:
    """Replace a view in place, so that views which use it stay. PostgreSQL allows this if columns are only added. If
    not, create it anew; views of others that use it are dropped with it."""
    try:
        async with connection.transaction():
            await connection.execute(f"CREATE OR REPLACE VIEW {name} AS {select}")
    except asyncpg.InvalidTableDefinitionError:
        await connection.execute(f"DROP VIEW {name} CASCADE; CREATE VIEW {name} AS {select}")


async def _ensure_role(connection: Connection) -> bool:
    """Create the role if possible, and return whether it exists. Managed databases may not let us create it."""
    if await connection.fetchval(_ROLE, READER):
        return True
    if not await connection.fetchval(_MAY_CREATE_ROLES):
        log.info("reader_role_not_made", role=READER, why="this account may not create roles")
        return False
    try:
        async with connection.transaction():
            await connection.execute(f"CREATE ROLE {READER} NOLOGIN")
    except (asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
        pass  # all databases of a server share their roles, and a process of another database has just created it
    return True
