"""Columns, read from the fields of a row: the Postgres type follows from the Python type, NULL from `| None`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec

from drover.readmodel.docstrings import field_texts


class PgType(StrEnum):
    """The Postgres types of columns, by the names that casts use."""

    TEXT = "text"
    UUID = "uuid"
    INTEGER = "int4"
    BIGINT = "int8"
    NUMERIC = "numeric"
    FLOAT = "float8"
    BOOLEAN = "bool"
    TIMESTAMPTZ = "timestamptz"
    DATE = "date"
    JSONB = "jsonb"
    TEXT_ARRAY = "text[]"
    INTEGER_ARRAY = "int4[]"


BigInt = Annotated[int, PgType.BIGINT]
Json = Annotated[Any, PgType.JSONB]
"""JSON as text. Postgres stores it as jsonb. A field of a struct type becomes JSON, too; it is encoded when it is
written."""
Scalar = Annotated[str | int, PgType.JSONB]
"""A text or a number. Reads return it as it was written. It is stored as jsonb; filters and `order` compare it as
text."""


def words(*them: str) -> msgspec.Meta:
    """Mark a text with a fixed set of values: `Annotated[str, words(…)]`. For documentation; not enforced."""
    return msgspec.Meta(extra_json_schema={"enum": list(them)})


_TYPES: Final[dict[Any, PgType]] = {
    str: PgType.TEXT,
    UUID: PgType.UUID,
    int: PgType.INTEGER,
    float: PgType.FLOAT,
    bool: PgType.BOOLEAN,
    datetime: PgType.TIMESTAMPTZ,
    date: PgType.DATE,
    list[str]: PgType.TEXT_ARRAY,
    list[int]: PgType.INTEGER_ARRAY,
}


class Column(msgspec.Struct, frozen=True):
    name: str
    type: PgType
    nullable: bool
    python: Any
    """The type without `| None`."""
    text: str = ""
    """The description of the column, for people."""
    sql: str | None = None
    """The SQL expression of the column in a view. None: the column of the same name."""

    @property
    def is_scalar(self) -> bool:
        return bool(self.python == Scalar)

    @property
    def encoded(self) -> Any:
        """The type of a value that is encoded as JSON when it is written. None: it is written as it is."""
        return self.python if self.is_scalar or _is_struct(self.python) else None


@cache
def columns_of(row: type[msgspec.Struct]) -> tuple[Column, ...]:
    hints = get_type_hints(row, include_extras=True)
    texts = field_texts(row)
    return tuple(column(name, hints[name], text=texts.get(name, "")) for name in row.__struct_fields__)


def column(name: str, type_: Any, sql: str | None = None, *, text: str = "") -> Column:
    """Make a column from its Python type. `sql`: its expression in a view."""
    python, nullable = _without_none(type_)
    return Column(name=name, type=_pg_type(python), nullable=nullable, python=python, text=text, sql=sql)


def pick(row: type[msgspec.Struct], *names: str) -> tuple[Column, ...]:
    """Return some columns of a row, in this order."""
    by_name = {one.name: one for one in columns_of(row)}
    return tuple(by_name[name] for name in names)


def without(row: type[msgspec.Struct], *names: str) -> tuple[Column, ...]:
    """Return all columns of a row except those with these names."""
    return tuple(one for one in columns_of(row) if one.name not in names)


def renamed(row: type[msgspec.Struct], column: str, name: str, sql: str) -> Column:
    """Return a column of a row under another name. `sql`: its expression in a view."""
    (found,) = pick(row, column)
    return msgspec.structs.replace(found, name=name, sql=sql)


def keys_first(columns: Sequence[Column], key: Sequence[str]) -> tuple[Column, ...]:
    """Sort the key columns to the front, where people look for them."""
    return tuple(sorted(columns, key=lambda one: key.index(one.name) if one.name in key else len(key)))


def _without_none(type_: Any) -> tuple[Any, bool]:
    if get_origin(type_) not in (Union, UnionType):
        return type_, False
    others = [part for part in get_args(type_) if part is not NoneType]
    assert len(others) == 1, f"a column has one type: {type_}"
    return others[0], len(others) < len(get_args(type_))


def _pg_type(python: Any) -> PgType:
    plain, *marks = get_args(python) if get_origin(python) is Annotated else (python,)
    for mark in marks:
        if isinstance(mark, PgType):
            return mark
    if get_origin(plain) is Literal or (isinstance(plain, type) and issubclass(plain, StrEnum)):
        return PgType.TEXT
    return PgType.JSONB if _is_struct(plain) else _TYPES[plain]


def _is_struct(python: Any) -> bool:
    return isinstance(python, type) and issubclass(python, msgspec.Struct)
