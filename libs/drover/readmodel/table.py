"""Declares tables as data: their rows, keys and indices. The projection writes them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec.structs import astuple

from drover.readmodel.column import Column, PgType, columns_of

R = TypeVar("R", bound=msgspec.Struct)

Key = Hashable
"""The key of a row: a single value, or a tuple if the key has several columns."""


PositionColumn = Literal["seq", "id"]
"""A column that says where in the log the event of a row is: `seq` is the sequence of its commit, `id` the number that
`projection.row_id` computes."""


@dataclass(frozen=True)
class Index:
    name: str
    on: str
    """The columns or expressions of the index, as SQL."""
    unique: bool = False
    where: str | None = None
    why: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """What keyed tables and append tables have in common."""

    name: str
    key: tuple[str, ...]
    row: type[msgspec.Struct]
    """A frozen struct whose fields are the columns, in the same order."""
    fillfactor: int | None = None
    indices: tuple[Index, ...] = ()

    def __post_init__(self) -> None:
        assert self.row.__struct_config__.frozen, f"{self.name}: rows are shared with a cache and must not change"
        assert set(self.key) <= set(self.columns), f"{self.name}: the key names an unknown column"

    @cached_property
    def fields(self) -> tuple[Column, ...]:
        return columns_of(self.row)

    @cached_property
    def types(self) -> Mapping[str, PgType]:
        """The Postgres type of each column."""
        return {column.name: column.type for column in self.fields}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.row.__struct_fields__

    @cached_property
    def record_key_of(self) -> Callable[[tuple[Any, ...]], Key]:
        """Return a function that reads the key from a record of the table."""
        return itemgetter(*map(self.columns.index, self.key))


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyedTable(Table, Generic[R]):
    """A table whose rows change and are found by key."""

    row: type[R]

    @cached_property
    def key_of(self) -> Callable[[R], Key]:
        return attrgetter(*self.key)

    @cached_property
    def to_record(self) -> Callable[[R], tuple[Any, ...]]:
        """A function that turns a row into a Postgres record."""
        encoded = [place for place, column in enumerate(self.fields) if column.encoded is not None]
        if not encoded:
            return astuple
        encode = msgspec.json.Encoder().encode

        def to_record(row: R) -> tuple[Any, ...]:
            values = list(astuple(row))
            for place in encoded:
                if values[place] is not None:
                    values[place] = encode(values[place]).decode()
            return tuple(values)

        return to_record

    @cached_property
    def from_record(self) -> Callable[[Sequence[Any]], R]:
        """A function that turns a Postgres record into a row."""
        row = self.row
        decoders = {
            place: msgspec.json.Decoder(column.encoded).decode
            for place, column in enumerate(self.fields)
            if column.encoded is not None
        }
        if not decoders and not _has_keywords(row):
            return lambda record: row(*record)
        names = self.columns

        def from_record(record: Sequence[Any]) -> R:
            values = dict(zip(names, record, strict=True))
            for place, decode in decoders.items():
                if record[place] is not None:
                    values[names[place]] = decode(record[place])
            return row(**values)

        return from_record


@dataclass(frozen=True, eq=False, kw_only=True)
class AppendTable(Table):
    """A table to which rows are only added, as plain tuples in column order, because most writes go there."""

    by_position: PositionColumn | None = None
    """The column by whose ranges PostgreSQL partitions the table (see `projection.table_partitions`). None: the table
    is not partitioned."""

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.by_position is None or self.by_position == self.key[0], f"{self.name}: its key is no position"

    @cached_property
    def position_place(self) -> int:
        """The index of the table's first key column in a row."""
        return self.columns.index(self.key[0])


def _has_keywords(row: type[msgspec.Struct]) -> bool:
    """Whether some fields of the row are keyword-only."""
    return len(row.__match_args__) < len(row.__struct_fields__)
