"""Compiles a `Query` on a `Relation` to one SQL statement: page, count, embeds. `conditions` makes columns and
filters."""

from __future__ import annotations

from typing import Final

import msgspec

from drover.readmodel.form import schema_of
from drover.readmodel.relation import Relation, Relationship
from drover.web.errors import ApiError
from drover.web.postgrest.ast import Column, Condition, Count, Embed, Filter, Item, Order, Query
from drover.web.postgrest.conditions import Parameter, Parameters, condition, field, refuse_sealed
from drover.web.postgrest.grammar import not_embedded
from drover.web.postgrest.sight import Sight
from drover.web.postgrest.values import bad_value, cast_type

__all__ = [
    "ANSWER_BYTES_MAX",
    "EMBEDDED_ROWS_MAX",
    "ROWS_MAX",
    "Compiled",
    "bad_value",
    "compile_export",
    "compile_query",
]

ROWS_MAX: Final = 1000
"""The maximum number of rows per answer, as in Supabase. Clients get further rows with an offset."""
EMBEDDED_ROWS_MAX: Final = (1000, 100, 10)
"""The maximum number of rows per embed, by depth: the rows of nested embeds multiply."""
ANSWER_BYTES_MAX: Final = 32 * 1024 * 1024
"""The maximum size of an answer in bytes. PostgreSQL does not send a larger one: its `body` is null."""


class Compiled(msgspec.Struct, frozen=True):
    """An SQL statement with its parameters. It returns one row: `body` (a JSON array as text), `rows`, `total` or null,
    `bytes`."""

    sql: str
    parameters: tuple[Parameter, ...]
    limit: int
    offset: int


class Export(msgspec.Struct, frozen=True):
    rows: Compiled
    """Returns one JSON object (`body`) for each row; null for one that is too large."""
    count: Compiled
    """Returns how many rows there are, counted up to one more than may be exported."""


class _Level(msgspec.Struct, frozen=True):
    """One relation of the query: the main one or an embed. Its conditions are compiled once and used for the page, the
    count and EXISTS."""

    relation: Relation
    query: Query
    row: str
    embeds: tuple[_Embedded, ...]
    where: str = "TRUE"

    @property
    def source(self) -> str:
        return f'FROM {_table(self.relation)} AS "{self.row}" WHERE {self.where}'

    def embedded(self, name: str) -> _Embedded | None:
        embed = self.query.embed(name)
        return next((embedded for embedded in self.embeds if embedded.embed is embed), None)


class _Embedded(msgspec.Struct, frozen=True):
    embed: Embed
    relationship: Relationship
    level: _Level
    rows_max: int

    @property
    def exists(self) -> str:
        return f"EXISTS (SELECT 1 {self.level.source})"


def _quoted(schema: str, name: str) -> str:
    return f'"{schema}"."{name}"'


def _table(relation: Relation) -> str:
    if not relation.united:
        return _quoted(relation.schema, relation.name)
    # Only constants and plain columns, so that PostgreSQL pushes conditions and order down to each part's index.
    columns = ", ".join(f'"{column}"' for column in relation.columns if column != "context")
    parts = (
        f"SELECT '{context}'::text AS context, {columns} FROM {_quoted(schema_of(context), relation.name)}"  # noqa: S608
        # All names come from our own code, never from a client, so this cannot inject SQL.
        for context in relation.united
    )
    return f"({' UNION ALL '.join(parts)})"


def compile_query(
    relation: Relation,
    query: Query,
    *,
    sight: Sight | None = None,
    count: bool = False,
    bytes_max: int = ANSWER_BYTES_MAX,
) -> Compiled:
    return _Compiler(sight or Sight()).compile(relation, query, count, bytes_max)


def compile_export(
    relation: Relation, query: Query, *, rows_max: int, row_bytes_max: int, sight: Sight | None = None
) -> Export:
    """Compile a query to statements that return its rows one by one, and how many there are. At most `rows_max`."""
    limit = min(query.limit if query.limit is not None else rows_max, rows_max)
    rows = _Compiler(sight or Sight()).rows(relation, query, limit, row_bytes_max)
    # One more than may be exported, to learn whether there are more.
    asked = min(query.limit if query.limit is not None else rows_max + 1, rows_max + 1)
    return Export(rows, _Compiler(sight or Sight()).count(relation, query, asked))


class _Compiler:
    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._parameters = Parameters()
        self._levels = 0

    def compile(self, relation: Relation, query: Query, count: bool, bytes_max: int) -> Compiled:
        level = self._level(relation, query)
        limit = min(query.limit if query.limit is not None else ROWS_MAX, ROWS_MAX)
        # An aggregate returns one row, so its total is 1.
        total = "1::bigint" if _counts(level) else f"(SELECT count(*) {level.source})"
        page = self._rows(level, limit)
        sql = (
            "SELECT coalesce(json_agg(row_to_json(\"the page\")), '[]'::json)::text AS body, "  # noqa: S608
            f'count(*) AS rows, {total if count else "NULL::bigint"} AS total FROM ({page}) AS "the page"'
        )
        sql = (
            f"SELECT CASE WHEN octet_length(body) <= {bytes_max} THEN body END AS body, rows, total, "  # noqa: S608
            f'octet_length(body) AS bytes FROM ({sql}) AS "the answer"'
        )
        return Compiled(sql, tuple(self._parameters.values), limit, query.offset)

    def rows(self, relation: Relation, query: Query, limit: int, bytes_max: int) -> Compiled:
        page = self._rows(self._level(relation, query), limit)
        # OFFSET 0, so that PostgreSQL makes each row only once.
        sql = f'SELECT row_to_json("the page")::text AS body FROM ({page}) AS "the page" OFFSET 0'  # noqa: S608
        sql = f'SELECT CASE WHEN octet_length(body) <= {bytes_max} THEN body END AS body FROM ({sql}) AS "a row"'  # noqa: S608
        return Compiled(sql, tuple(self._parameters.values), limit, query.offset)

    def count(self, relation: Relation, query: Query, limit: int) -> Compiled:
        page = self._rows(self._level(relation, query), limit)
        sql = f'SELECT count(*) FROM ({page}) AS "the page"'  # noqa: S608
        return Compiled(sql, tuple(self._parameters.values), limit, query.offset)

    def _level(
        self,
        relation: Relation,
        query: Query,
        join: tuple[Relationship, str] | None = None,
        fan_out: int = 0,
        depth: int = 0,
    ) -> _Level:
        # Row names contain a space, so no column or alias can shadow them.
        row = f"row {self._levels}" if self._levels else "the row"
        self._levels += 1
        embeds = tuple(
            self._embedded(relation, row, item, fan_out, depth + 1) for item in query.select if isinstance(item, Embed)
        )
        level = _Level(relation, query, row, embeds)
        conditions: list[str] = []
        if join is not None:
            relationship, outer = join
            conditions.append(f'"{row}"."{relationship.target_column}" = "{outer}"."{relationship.column}"')
        for column, value in self._sight.only.get(relation.name, {}).items():
            own = condition(relation, row, Filter(column, "eq", value), self._parameters)
            conditions.append(f"({own})")
        conditions += [self._condition(level, part) for part in query.where]
        for embedded in embeds:
            if embedded.embed.inner:
                conditions.append(embedded.exists)
            elif not embedded.embed.query.select:
                # A plain `jobs()` neither shows nor filters rows, but PostgreSQL demands that every parameter is used.
                conditions.append(f"({embedded.exists} OR TRUE)")
        return msgspec.structs.replace(level, where=" AND ".join(conditions) or "TRUE")

    def _embedded(self, relation: Relation, row: str, embed: Embed, fan_out: int, depth: int) -> _Embedded:
        if depth > self._sight.depth_max:
            raise _too_deep(self._sight.depth_max)
        relationship = relation.relationships.get(embed.relation)
        target = None if relationship is None else self._sight.relations.get(relationship.target)
        if relationship is None or target is None or not _is_meant(relation, relationship, embed.hint):
            raise self._no_relationship(relation, embed)
        many = relationship.kind == "to-many"
        level = self._level(target, embed.query, (relationship, row), fan_out + many, depth)
        rows_max = EMBEDDED_ROWS_MAX[fan_out] if many else 1
        return _Embedded(embed, relationship, level, rows_max)

    def _no_relationship(self, relation: Relation, embed: Embed) -> ApiError:
        known = sorted(name for name, to in relation.relationships.items() if to.target in self._sight.relations)
        return ApiError(
            400,
            "PGRST200",
            f"Could not find a relationship between '{relation.name}' and '{embed.relation}' in the schema cache",
            details=f"'{embed.relation}!{embed.hint}' was asked for" if embed.hint else None,
            hint=f"'{relation.name}' can embed {', '.join(known) if known else 'nothing'}.",
        )

    def _rows(self, level: _Level, limit: int) -> str:
        """Make the SELECT statement for the rows of one relation of the query."""
        if counted := _counts(level):
            if level.query.order:
                raise ApiError(400, "42803", "count() returns one row, so it cannot be ordered")
            columns, order = f'count(*) AS "{counted}"', ""
        else:
            columns = ", ".join(column for item in level.query.select for column in self._item(level, item))
            order = self._order(level)
        return (
            f"SELECT {columns} {level.source}{order} "
            f"LIMIT {self._parameters.add(limit)}::bigint OFFSET {self._parameters.add(level.query.offset)}::bigint"
        )

    def _item(self, level: _Level, item: Item) -> list[str]:
        if isinstance(item, Embed):
            embedded = next(one for one in level.embeds if one.embed is item)
            return [f'{self._embed(embedded)} AS "{item.key}"'] if item.query.select else []
        if isinstance(item, Column):
            if item.path is not None or item.cast is not None:
                refuse_sealed(level.relation, item.name)
            found = field(level.relation, level.row, item.name, item.path, self._parameters)
            if item.name in level.relation.scalars and item.path is None and item.cast is None:
                return [f'"{level.row}"."{item.name}" AS "{item.alias or item.name}"']
            sql = found.sql if item.cast is None else f"{found.sql}::{cast_type(found.type, item.cast)}"
            return [f'{sql} AS "{item.alias or item.name}"']
        return [f'"{level.row}"."{name}"' for name in level.relation.columns]

    def _embed(self, embedded: _Embedded) -> str:
        query = embedded.level.query
        if embedded.relationship.kind == "to-one":
            value = 'row_to_json("the page")'
        else:
            value = "coalesce(json_agg(row_to_json(\"the page\")), '[]'::json)"
        limit = min(query.limit if query.limit is not None else embedded.rows_max, embedded.rows_max)
        return f'(SELECT {value} FROM ({self._rows(embedded.level, limit)}) AS "the page")'  # noqa: S608

    def _order(self, level: _Level) -> str:
        parts = []
        for term in level.query.order:
            nulls = f" NULLS {term.nulls.upper()}" if term.nulls else ""
            parts.append(f"{self._sorted_by(level, term)} {'DESC' if term.descending else 'ASC'}{nulls}")
        named = {term.column for term in level.query.order if term.path is None and term.embed is None}
        parts += [f'"{level.row}"."{column}"' for column in level.relation.order if column not in named]
        return f" ORDER BY {', '.join(parts)}" if parts else ""

    def _sorted_by(self, level: _Level, term: Order) -> str:
        if term.embed is None:
            refuse_sealed(level.relation, term.column)
            return field(level.relation, level.row, term.column, term.path, self._parameters).sql
        embedded = level.embedded(term.embed)
        if embedded is None:
            raise not_embedded(term.embed)
        if embedded.relationship.kind != "to-one":
            raise ApiError(
                400,
                "PGRST118",
                f"A related order on '{term.embed}' is not possible",
                details=f"'{level.relation.name}' and '{term.embed}' do not form a many-to-one relationship",
            )
        inner = embedded.level
        refuse_sealed(inner.relation, term.column)
        column = field(inner.relation, inner.row, term.column, term.path, self._parameters)
        return f"(SELECT {column.sql} {inner.source} LIMIT 1)"

    def _condition(self, level: _Level, part: Condition) -> str:
        if isinstance(part, Filter):
            sql = self._filter(level, part)
        else:
            sql = f" {part.kind.upper()} ".join(self._condition(level, inner) for inner in part.parts)
        return f"NOT ({sql})" if part.negated else f"({sql})"

    def _filter(self, level: _Level, filter_: Filter) -> str:
        if filter_.column not in level.relation.columns and (embedded := level.embedded(filter_.column)):
            # `jobs=is.null`: rows without a job.
            if filter_.operator != "is" or filter_.value not in ("null", "not_null") or filter_.path is not None:
                raise ApiError(
                    400,
                    "PGRST120",
                    "Bad operator on the embedded resource",
                    details=f"Only is null or not is null filters are allowed on '{filter_.column}'",
                )
            return embedded.exists if filter_.value == "not_null" else f"NOT {embedded.exists}"
        return condition(level.relation, level.row, filter_, self._parameters)


def _counts(level: _Level) -> str | None:
    """Return the name of the count if this level selects only a count, else None. It does with `count()`, and with
    `count` if the relation has no column of that name."""
    if len(level.query.select) == 1:
        item = level.query.select[0]
        if isinstance(item, Count):
            return item.alias or "count"
        if item == Column("count") and "count" not in level.relation.columns:
            return "count"
    return None


def _too_deep(depth_max: int) -> ApiError:
    return ApiError(
        400,
        "54001",
        f"This key may nest embeds {depth_max} deep",
        hint="Read the relations one after the other, or use a key of your back office.",
    )


def _is_meant(relation: Relation, relationship: Relationship, hint: str | None) -> bool:
    """Whether a hint (`jobs!job_id`) means this relationship. It does if it is one of the two columns, the conventional
    name of the foreign key, or the target relation. No hint means every relationship."""
    here, there = relationship.column, relationship.target_column
    keys = (f"{relation.name}_{here}_fkey", f"{relationship.target}_{there}_fkey")
    return hint is None or hint in (here, there, *keys, relationship.target)
