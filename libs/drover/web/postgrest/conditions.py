"""Makes the SQL for columns and conditions. Identifiers come only from the declared relation; every value is a
parameter."""

from __future__ import annotations

from typing import Final

import msgspec

from drover.readmodel.column import PgType
from drover.readmodel.relation import Relation
from drover.web.errors import ApiError
from drover.web.postgrest.ast import Filter, Path
from drover.web.postgrest.values import check_value

_COMPARISONS: Final = {"eq": "=", "neq": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_PATTERNS: Final = {"like": "LIKE", "ilike": "ILIKE"}
_CONTAINMENTS: Final = {"cs": "@>", "cd": "<@"}
_IS: Final = {"null": "NULL", "not_null": "NOT NULL", "true": "TRUE", "false": "FALSE", "unknown": "UNKNOWN"}

Parameter = str | int | list[str]


class Parameters:
    """The parameters of a statement, in order."""

    def __init__(self) -> None:
        self.values: list[Parameter] = []

    def add(self, value: Parameter) -> str:
        self.values.append(value)
        return f"${len(self.values)}"


class Field(msgspec.Struct, frozen=True):
    """A column of a row, or the value at a path in it, as SQL."""

    sql: str
    type: PgType


def field(relation: Relation, row: str, column: str, path: Path | None, parameters: Parameters) -> Field:
    """Make the SQL of a column, or of a value inside it, for comparisons. `row`: the alias of the column's row in the
    statement. It qualifies the column, so that no other alias can hide it."""
    type_ = relation.columns.get(column)
    if type_ is None:
        raise no_column(relation, column)
    sql = f'"{row}"."{column}"'
    if path is None and column in relation.scalars:
        return Field(f"({sql} #>> '{{}}')", PgType.TEXT)
    if path is None:
        return Field(sql, type_)
    if type_ is not PgType.JSONB:
        raise no_operator("->>" if path.text else "->", type_)
    keys = parameters.add(list(path.keys))
    return Field(f"({sql} {'#>>' if path.text else '#>'} {keys}::text[])", PgType.TEXT if path.text else type_)


def condition(relation: Relation, row: str, filter_: Filter, parameters: Parameters) -> str:
    """Make the SQL of a filter, without its negation."""
    refuse_sealed(relation, filter_.column)
    found = field(relation, row, filter_.column, filter_.path, parameters)
    type_, operator, value = found.type, filter_.operator, filter_.value
    words = relation.aliases.get(filter_.column, {}) if filter_.path is None else {}
    if isinstance(value, tuple):
        if type_ is PgType.TEXT_ARRAY:
            raise no_operator("in", type_)
        meant = [words.get(one, one) for one in value]
        for one in meant:
            check_value(type_, one)
        return f"{found.sql} = ANY ({parameters.add(meant)}::text[]::{type_}[])"
    if operator == "is":
        if value not in ("null", "not_null") and type_ is not PgType.BOOLEAN:
            raise ApiError(400, "42804", f"argument of IS {_IS[value]} must be type boolean, not type {type_}")
        return f"{found.sql} IS {_IS[value]}"
    if operator in _PATTERNS:
        if type_ is not PgType.TEXT:
            raise no_operator(_PATTERNS[operator], type_)
        return f"{found.sql} {_PATTERNS[operator]} {parameters.add(value.replace('*', '%'))}::text"
    if operator in _CONTAINMENTS:
        if type_ not in (PgType.TEXT_ARRAY, PgType.JSONB):
            raise no_operator(_CONTAINMENTS[operator], type_)
        return f"{found.sql} {_CONTAINMENTS[operator]} {parameters.add(value)}::text::{type_}"
    if operator in ("eq", "neq"):
        value = words.get(value, value)
    check_value(type_, value)
    return f"{found.sql} {_COMPARISONS[operator]} {parameters.add(value)}::text::{type_}"


def refuse_sealed(relation: Relation, column: str) -> None:
    """Refuse a filter or an order by a sealed column, because the database has only its ciphertext."""
    if column in relation.sealed or column in relation.sealed.values():
        raise ApiError(
            400,
            "PGRST127",
            "Feature not implemented",
            details=f"{relation.name}.{column} is sealed: it can only be selected as a whole.",
            hint="The database has it encrypted. Filter and order by other columns, and compare it after reading.",
        )


def no_column(relation: Relation, column: str) -> ApiError:
    return ApiError(400, "42703", f"column {relation.name}.{column} does not exist")


def no_operator(operator: str, type_: PgType) -> ApiError:
    return ApiError(
        400,
        "42883",
        f"operator {operator} does not exist for type {type_}",
        hint="No operator matches the given name and argument types.",
    )
