"""Makes SELECT lists from types, and values of these types from records of the database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from drover.readmodel.column import PgType, columns_of
from drover.readmodel.relation import select_list

S = TypeVar("S", bound=msgspec.Struct)


def selected(shape: type[msgspec.Struct], letter: str, computed: Mapping[str, str] | None = None) -> str:
    """Make the SELECT list of a type's columns. `letter`: the table's alias."""
    sql = computed or {}
    columns = [replace(one, sql=sql.get(one.name)) for one in columns_of(shape)]
    return ", ".join(select_list(columns, letter))


def maker(made: type[S], columns: type[msgspec.Struct] | None = None) -> Callable[..., S]:
    """Make a function that turns a record into a value of this type. `columns`: a type with only the columns of the
    record, if the caller adds the other fields.

    JSON columns are passed on as Postgres wrote them.
    """
    fields = columns_of(columns or made)
    names = [one.name for one in fields]
    documents = [one.name for one in fields if one.type is PgType.JSONB]

    def make(record: Any, **more: Any) -> S:
        values = {name: record[name] for name in names}
        for name in documents:
            if values[name] is not None:
                values[name] = msgspec.Raw(values[name])
        return made(**values, **more)

    return make
