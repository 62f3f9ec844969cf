"""No read without an index: the plans that PostgreSQL makes for every list, on tables of a farm's size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import asyncpg
import msgspec
import pytest

from drover.readmodel.form import placed
from tests.contract import routes
from tests.filled.database import FILLED_WITHIN_S
from tests.filled.lists import LISTS, READS

LARGE_ROWS = 1_000
"""A table that has more is not read from end to end."""
ROWS_MAX = 2_500
"""That a read may look at: a page costs what it shows, not what there is. The phones of a hundred PCs are 2,000."""
ANYWHERE = ("cursor", "limit")
"""What every list takes, and goes on or ends by."""
PAGES_MAX = 4_000
"""Of 8 KiB, that a read may look at, in index or table: one that walks an index from end to end has none."""

pytestmark = [pytest.mark.timeout(FILLED_WITHIN_S), pytest.mark.slow, pytest.mark.req("EV-05")]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


async def explained(connection: asyncpg.Connection, options: str, sql: str, values: tuple[Any, ...]) -> dict[str, Any]:
    (answer,) = await connection.fetchrow(f"EXPLAIN ({options}, VERBOSE, FORMAT JSON) {sql}", *values)
    plan: dict[str, Any] = msgspec.json.decode(answer)[0]["Plan"]
    return plan


async def scanned(connection: asyncpg.Connection, plan: dict[str, Any]) -> set[str]:
    """Large tables that this plan reads from end to end, or large partitions of them."""
    large = {
        row["name"]: row["whole"]
        for row in await connection.fetch(
            "SELECT relnamespace::regnamespace::text || '.' || relname AS name, "
            "coalesce(pg_partition_root(oid)::regclass::text, oid::regclass::text) AS whole "
            "FROM pg_class WHERE relkind = 'r' AND reltuples > $1",
            float(LARGE_ROWS),
        )
    }
    read = (f"{node['Schema']}.{node['Relation Name']}" for node in nodes(plan) if node["Node Type"] == "Seq Scan")
    return {large[name] for name in read if name in large}


def rows_read(plan: dict[str, Any]) -> int:
    """From tables, to be shown or to be left out."""
    return sum(
        sum(node.get(name, 0) for name in ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"))
        * node["Actual Loops"]
        for node in nodes(plan)
        if "Relation Name" in node
    )


@pytest.fixture
async def connection(filled_dsn):
    connection = await asyncpg.connect(filled_dsn)
    yield connection
    await connection.close()


@pytest.mark.parametrize("path", [*LISTS, *READS])
async def test_every_read_finds_its_rows_by_an_index(filled, connection, path):
    body = await filled.get(path)
    if path in LISTS:
        assert body["items"], "it proves nothing if there is nothing to be found"
        if body["next"] is not None:
            await filled.get(f"{path}{'&' if '?' in path else '?'}cursor={body['next']}")
    assert filled.pool.asked
    for sql, values in filled.pool.asked:
        plan = await explained(connection, "ANALYZE, BUFFERS", sql, values)
        assert not await scanned(connection, plan), sql
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= PAGES_MAX, sql
        assert rows_read(plan) <= ROWS_MAX, sql


@pytest.mark.parametrize("path", [*LISTS, *READS])
async def test_a_read_that_is_asked_again_and_again_keeps_its_index(filled, connection, path):
    """After five times PostgreSQL may make a plan for any value: where it does, that one must do as well."""
    for _ in range(8):
        await filled.get(path)
    statements = await filled.pool.fetch("SELECT statement FROM pg_prepared_statements WHERE generic_plans > 0")
    for row in statements:
        if row["statement"].startswith("SELECT"):
            places = max(map(int, re.findall(r"\$(\d+)", row["statement"])), default=0)
            plan = await explained(connection, "GENERIC_PLAN", row["statement"], (None,) * places)
            assert not await scanned(connection, plan), row["statement"]


def named(path: str) -> str:
    """The operation that a path asks for: what stands in it for an id is anybody's."""
    return next(it.path for it in routes.READS if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", it.path), path))


def test_every_read_and_every_filter_is_among_those_that_are_looked_at():
    """Not the overview: it counts all devices, once a second for all who look."""
    asked: set[tuple[str, str]] = set()
    for path, _, query in (it.partition("?") for it in (*LISTS, *READS)):
        asked |= {(named(path), name) for name in ("", *(pair.partition("=")[0] for pair in query.split("&")))}
    there = {
        (it.path, name)
        for it in routes.READS
        for name in ("", *(parameter.name for parameter in it.parameters if parameter.place == "query"))
        if name not in ANYWHERE and it.path != "/api/overview"
    }
    assert not there - asked


@pytest.mark.control
async def test_a_read_without_an_index_would_be_noticed(connection):
    plan = await explained(
        connection, "ANALYZE, BUFFERS", placed("SELECT * FROM rm_fleet.events WHERE trace = $1"), ("x",)
    )
    assert await scanned(connection, plan) == {placed("rm_fleet.events")}
