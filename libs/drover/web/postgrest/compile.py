"""From a `Query` and a `Relation` to SQL. Identifiers come from the relation only; every value is a parameter."""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

import msgspec

from drover.web.errors import ApiError
from drover.web.postgrest.ast import Column, Condition, Embed, Filter, Item, Order, Query
from drover.web.postgrest.relation import PgType, Relation

ROWS_MAX: Final = 1000
"""Rows in one answer, as Supabase has it: beyond that clients page."""

_COMPARISONS: Final = {"eq": "=", "neq": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_PATTERNS: Final = {"like": "LIKE", "ilike": "ILIKE"}
_CONTAINMENTS: Final = {"cs": "@>", "cd": "<@"}
_IS: Final = {"null": "NULL", "not_null": "NOT NULL", "true": "TRUE", "false": "FALSE", "unknown": "UNKNOWN"}
_INTEGER_RANGE: Final = {PgType.INTEGER: 2**31, PgType.BIGINT: 2**63}
_BOOLEANS: Final = frozenset({"t", "true", "y", "yes", "on", "1", "f", "false", "n", "no", "off", "0"})


class Compiled(msgspec.Struct, frozen=True):
    """One statement with one row as its result: `body` (a JSON array as text), `rows`, and `total` or null."""

    sql: str
    parameters: tuple[str | int | list[str], ...]
    limit: int
    offset: int


def compile_query(relation: Relation, query: Query, *, count: bool = False) -> Compiled:
    return _Compiler(relation).compile(query, count)


class _Compiler:
    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._parameters: list[str | int | list[str]] = []

    def compile(self, query: Query, count: bool) -> Compiled:
        relation = self._relation
        # Names with a space: no column and no alias can be one, so that neither can hide them.
        source = f'"{relation.schema}"."{relation.name}" AS "the row"'
        columns = ", ".join(column for item in query.select for column in self._item(item))
        where = " AND ".join(self._condition(condition) for condition in query.where) or "TRUE"
        order = self._order(query.order)
        limit = min(query.limit if query.limit is not None else ROWS_MAX, ROWS_MAX)
        # Counting comes before the page's own parameters, so that both share those of the filters.
        total = f"(SELECT count(*) FROM {source} WHERE {where})" if count else "NULL::bigint"  # noqa: S608
        page = (
            f"SELECT {columns} FROM {source} WHERE {where}{order} "  # noqa: S608 (identifiers of the relation only)
            f"LIMIT {self._parameter(limit)}::bigint OFFSET {self._parameter(query.offset)}::bigint"
        )
        sql = (
            f"SELECT coalesce(json_agg(row_to_json(\"the page\")), '[]'::json)::text AS body, "  # noqa: S608
            f'count(*) AS rows, {total} AS total FROM ({page}) AS "the page"'
        )
        return Compiled(sql, tuple(self._parameters), limit, query.offset)

    def _item(self, item: Item) -> list[str]:
        if isinstance(item, Embed):
            raise ApiError(
                400,
                "PGRST200",
                f"Could not find a relationship between '{self._relation.name}' and '{item.relation}' "
                "in the schema cache",
            )
        if isinstance(item, Column):
            self._type(item.name)
            return [f'"{item.name}" AS "{item.alias}"' if item.alias else f'"{item.name}"']
        return [f'"{name}"' for name in self._relation.columns]

    def _order(self, terms: tuple[Order, ...]) -> str:
        parts = []
        for term in terms:
            self._type(term.column)
            nulls = f" NULLS {term.nulls.upper()}" if term.nulls else ""
            parts.append(f'"the row"."{term.column}" {"DESC" if term.descending else "ASC"}{nulls}')
        named = {term.column for term in terms}
        parts += [f'"the row"."{column}"' for column in self._relation.order if column not in named]
        return f" ORDER BY {', '.join(parts)}" if parts else ""

    def _condition(self, condition: Condition) -> str:
        if isinstance(condition, Filter):
            sql = self._filter(condition)
        else:
            sql = f" {condition.kind.upper()} ".join(self._condition(part) for part in condition.parts)
        return f"NOT ({sql})" if condition.negated else f"({sql})"

    def _filter(self, filter_: Filter) -> str:
        type_ = self._type(filter_.column)
        column, operator, value = f'"{filter_.column}"', filter_.operator, filter_.value
        if isinstance(value, tuple):
            for one in value:
                _check(type_, one)
            if type_ is PgType.TEXT_ARRAY:
                raise _no_operator("in", type_)
            return f"{column} = ANY ({self._parameter(list(value))}::text[]::{type_}[])"
        if operator == "is":
            if value not in ("null", "not_null") and type_ is not PgType.BOOLEAN:
                raise ApiError(400, "42804", f"argument of IS {_IS[value]} must be type boolean, not type {type_}")
            return f"{column} IS {_IS[value]}"
        if operator in _PATTERNS:
            if type_ is not PgType.TEXT:
                raise _no_operator(_PATTERNS[operator], type_)
            return f"{column} {_PATTERNS[operator]} {self._parameter(value.replace('*', '%'))}::text"
        if operator in _CONTAINMENTS:
            if type_ not in (PgType.TEXT_ARRAY, PgType.JSONB):
                raise _no_operator(_CONTAINMENTS[operator], type_)
            return f"{column} {_CONTAINMENTS[operator]} {self._parameter(value)}::text::{type_}"
        _check(type_, value)
        return f"{column} {_COMPARISONS[operator]} {self._parameter(value)}::text::{type_}"

    def _type(self, column: str) -> PgType:
        type_ = self._relation.columns.get(column)
        if type_ is None:
            raise ApiError(400, "42703", f"column {self._relation.name}.{column} does not exist")
        return type_

    def _parameter(self, value: str | int | list[str]) -> str:
        self._parameters.append(value)
        return f"${len(self._parameters)}"


def _check(type_: PgType, text: str) -> None:
    """Refuse here what can be told here. Times and numbers have grammars of their own: PostgreSQL refuses those."""
    if type_ is PgType.UUID:
        try:
            UUID(text)
        except ValueError:
            raise bad_value("uuid", text) from None
    elif type_ in _INTEGER_RANGE:
        if not re.fullmatch(r"\s*[+-]?[0-9]{1,40}\s*", text, re.ASCII):
            raise bad_value("integer" if type_ is PgType.INTEGER else "bigint", text)
        if not -_INTEGER_RANGE[type_] <= int(text) < _INTEGER_RANGE[type_]:
            raise ApiError(400, "22003", f'value "{text[:64]}" is out of range for type {type_}')
    elif type_ is PgType.BOOLEAN and text.strip().lower() not in _BOOLEANS:
        raise bad_value("boolean", text)


def bad_value(type_name: str, text: str) -> ApiError:
    return ApiError(400, "22P02", f'invalid input syntax for type {type_name}: "{text[:64]}"')


def _no_operator(operator: str, type_: PgType) -> ApiError:
    return ApiError(
        400,
        "42883",
        f"operator {operator} does not exist for type {type_}",
        hint="No operator matches the given name and argument types.",
    )
