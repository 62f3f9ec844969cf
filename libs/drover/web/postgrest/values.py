"""Checks texts against a column's type before PostgreSQL sees them, and lists the supported casts."""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

from drover.readmodel.column import PgType
from drover.web.errors import ApiError

_INTEGER_RANGE: Final = {PgType.INTEGER: 2**31, PgType.BIGINT: 2**63}
_BOOLEANS: Final = frozenset({"t", "true", "y", "yes", "on", "1", "f", "false", "n", "no", "off", "0"})

_TYPE_NAMES: Final = {
    "text": PgType.TEXT,
    "varchar": PgType.TEXT,
    "uuid": PgType.UUID,
    "int": PgType.INTEGER,
    "int4": PgType.INTEGER,
    "integer": PgType.INTEGER,
    "int8": PgType.BIGINT,
    "bigint": PgType.BIGINT,
    "numeric": PgType.NUMERIC,
    "decimal": PgType.NUMERIC,
    "float": PgType.FLOAT,
    "float8": PgType.FLOAT,
    "bool": PgType.BOOLEAN,
    "boolean": PgType.BOOLEAN,
    "timestamptz": PgType.TIMESTAMPTZ,
    "date": PgType.DATE,
    "json": PgType.JSONB,
    "jsonb": PgType.JSONB,
}
_NUMBERS: Final = frozenset({PgType.INTEGER, PgType.BIGINT, PgType.NUMERIC, PgType.FLOAT})
# By source type, the types to cast to. Any type can be cast to text, and text to any type; the others are those that
# PostgreSQL supports.
_CASTS: Final[dict[PgType, frozenset[PgType]]] = {
    PgType.TEXT: frozenset(PgType),
    PgType.INTEGER: _NUMBERS | {PgType.BOOLEAN},
    PgType.BIGINT: _NUMBERS,
    PgType.NUMERIC: _NUMBERS,
    PgType.FLOAT: _NUMBERS,
    PgType.BOOLEAN: frozenset({PgType.INTEGER}),
    PgType.JSONB: _NUMBERS | {PgType.BOOLEAN},
}


def cast_type(type_: PgType, name: str) -> PgType:
    """Return the target type of a cast. Raises an error if it is not supported."""
    wanted = _TYPE_NAMES.get(name.lower())
    if wanted is None:
        raise ApiError(
            400, "42704", f'type "{name}" does not exist', hint=f"Casts go to {', '.join(sorted(_TYPE_NAMES))}."
        )
    if wanted not in (type_, PgType.TEXT) and wanted not in _CASTS.get(type_, ()):
        raise ApiError(400, "42846", f"cannot cast type {type_} to {wanted}")
    return wanted


def check_value(type_: PgType, text: str) -> None:
    """Refuse a value that does not fit the column's type. PostgreSQL itself checks times and numbers, whose grammars
    are complex."""
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
