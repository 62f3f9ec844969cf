"""Whether what the gateway says of a read model is so: relations, columns, types."""

from __future__ import annotations

import re

import asyncpg

from drover.readmodel.form import schema_of
from drover.readmodel.models import RELATIONS


def relations_of(context: str) -> set[str]:
    """Those that this context has, alone or like all others."""
    return {name for name, relation in RELATIONS.items() if context in relation.contexts}


async def views_of(connection: asyncpg.Connection, context: str) -> set[str]:
    rows = await connection.fetch("SELECT viewname FROM pg_views WHERE schemaname = $1", schema_of(context))
    return {row["viewname"] for row in rows}


async def plan_of(connection: asyncpg.Connection, question: str) -> str:
    """How PostgreSQL would answer it. An index of a partition is named as the index of the whole table is."""
    plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN {question}"))
    of_partitions = await connection.fetch(
        "SELECT i.relname AS name, t.relname AS whole FROM pg_inherits "
        "JOIN pg_class i ON i.oid = inhrelid JOIN pg_class t ON t.oid = inhparent WHERE t.relkind = 'I'"
    )
    whole = {row["name"]: row["whole"] for row in of_partitions}
    return re.sub(r"\w+", lambda word: whole.get(word[0], word[0]), plan)


async def check_described(connection: asyncpg.Connection, context: str) -> None:
    """Every relation is there with these columns, of these types, in this order."""
    for name in relations_of(context):
        relation = RELATIONS[name]
        found = await connection.fetch(
            "SELECT attname, format_type(atttypid, NULL) AS type FROM pg_attribute"
            " WHERE attrelid = ($1 || '.' || $2)::regclass AND attnum > 0 ORDER BY attnum",
            schema_of(context),
            name,
        )
        described = [
            (column, await connection.fetchval("SELECT format_type($1::regtype, NULL)", str(type_)))
            for column, type_ in relation.columns.items()
            if not (relation.united and column == "context")  # a part of a united one says it by where it is
        ]
        assert [(row["attname"], row["type"]) for row in found] == described, name
