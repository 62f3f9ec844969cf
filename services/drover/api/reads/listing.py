"""Lists that page by key: which statement a request becomes, and how its rows become a page.

A statement is put together from fixed pieces, one for each parameter that was given, and never has a condition that
asks whether a parameter is there: so each combination has the plan, and the index, that fits it. The rows of the page
are found first, in their own table; what belongs to them is looked up for these alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from drover.api.reads.cursors import read_cursor, write_cursor
from drover.api.reads.database import ReadModels
from drover.api.reads.parameters import CURSOR, LIMIT, LIMIT_DEFAULT, LIMIT_MAX, Asked, Kind
from drover.api.reads.queries import QUERIES
from drover.api.reads.records import maker

R = TypeVar("R", bound=msgspec.Struct)


class Page(msgspec.Struct, Generic[R]):
    """Some rows of a list, in its order."""

    items: list[R]
    next: str | None
    """What `cursor` must say for the rows that follow; null: there are none now."""


class Key(NamedTuple):
    """A part of what rows are ordered by. All parts together are unique, and none is ever null."""

    column: str
    """As the row calls it."""
    sql: str
    """As the query does."""
    type: Any
    cast: str


class Where(NamedTuple):
    """What a parameter selects."""

    kind: Kind
    sql: str = ""
    """`{}` stands for its value."""
    words: Mapping[str, str] = {}
    """Conditions by word, where each is one of its own."""
    fans: bool = False
    """Of several values each is looked up by itself: only so does an index give them in order."""
    in_path: bool = False
    """Said by the path, not by a parameter."""


FETCHED: Final = (26, 101, LIMIT_MAX + 1)
"""Rows that a statement may fetch, the first that is more than asked for: one more tells whether there is a next page.
A number in the statement, not a value: a plan that PostgreSQL makes for any value takes a limit for a tenth of all."""


def fetched(asked: Asked) -> int:
    limit = asked["limit"] or LIMIT_DEFAULT
    return next(number for number in FETCHED if number > limit)


class Statement(NamedTuple):
    sql: str
    values: list[Any]


class Values:
    """The parameters of a statement, in the order of their places in it."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    def add(self, value: Any) -> str:
        self.all.append(value)
        return f"${len(self.all)}"


class Listing(Generic[R]):
    def __init__(
        self,
        name: str,
        context: str,
        row: type[R],
        table: str,
        key: Sequence[Key],
        wheres: Sequence[Where] = (),
        *,
        make: Callable[[Any], R] | None = None,
        descending: bool = True,
        order: Kind | None = None,
    ) -> None:
        """`table`: with the letter that its rows have in keys and conditions. The query of the same name as the list
        takes them from `{page}`. `order`: the parameter that turns the list around, by its second word."""
        self.name = name
        self.context = context
        self.row = row
        self._table = table
        self._letter = table.rpartition(" ")[2]
        self._query = QUERIES[name]
        self._key = tuple(key)
        self._wheres = tuple(wheres)
        self._make: Callable[[Any], R] = make or maker(row)
        self._descending = descending
        self._order = order
        asked = [where.kind for where in wheres if not where.in_path]
        self.kinds = (*asked, *([order] if order else []), LIMIT, CURSOR)

    async def page(self, models: ReadModels, asked: Asked) -> Page[R]:
        limit = asked["limit"] or LIMIT_DEFAULT
        statement = self.statement(asked)
        records = await models.fetch(self.context, statement.sql, *statement.values)
        return self.paged(records, limit)

    def paged(self, records: Sequence[Any], limit: int) -> Page[R]:
        shown = records[:limit]
        last = shown[-1] if len(records) > limit else None
        return Page(
            [self._make(record) for record in shown],
            None if last is None else write_cursor(self.name, [last[part.column] for part in self._key]),
        )

    async def one(self, models: ReadModels, condition: str, *values: Any) -> R | None:
        """The row for which this holds."""
        page = f"(SELECT * FROM {self._table} WHERE {condition}) AS {self._letter}"  # noqa: S608
        record = await models.fetch_one(self.context, self._query.format(page=page), *values)
        return None if record is None else self._make(record)

    def statement(self, asked: Asked) -> Statement:
        values, limit = Values(), fetched(asked)
        after = self._after(asked)
        order = ", ".join(f"{part.sql} {self._direction(asked)}" for part in self._key)
        branches = [
            f"SELECT * FROM {self._table} WHERE {' AND '.join(conditions) or 'TRUE'} "  # noqa: S608
            f"ORDER BY {order} LIMIT {limit}"
            for conditions in self._branches(asked, after, values)
        ]
        rows = branches[0]
        if len(branches) > 1:
            united = " UNION ALL ".join(f"({branch})" for branch in branches)
            rows = f"SELECT * FROM ({united}) AS {self._letter} ORDER BY {order} LIMIT {limit}"  # noqa: S608
        sql = self._query.format(page=f"(\n{rows}\n) AS {self._letter}")
        return Statement(f"{sql}\nORDER BY {order}", values.all)

    def _branches(self, asked: Asked, after: list[Any] | None, values: Values) -> list[list[str]]:
        """The conditions of each branch: of one, unless a parameter fans out."""
        shared: list[str] = []
        fanned: list[str] = []
        for where in self._wheres:
            value = asked[where.kind.name]
            if value is None:
                continue
            if where.fans and isinstance(value, tuple) and not fanned:
                fanned = [_condition(where, one, values) for one in value]
            else:
                shared.append(_condition(where, value, values))
        if after is not None:
            columns = ", ".join(part.sql for part in self._key)
            places = ", ".join(
                f"{values.add(value)}::{part.cast}" for value, part in zip(after, self._key, strict=True)
            )
            shared.append(f"({columns}) {'<' if self._down(asked) else '>'} ({places})")
        return [[one, *shared] for one in fanned] or [shared]

    def _after(self, asked: Asked) -> list[Any] | None:
        cursor = asked["cursor"]
        return None if cursor is None else read_cursor(self.name, cursor, [part.type for part in self._key])

    def _down(self, asked: Asked) -> bool:
        turned = self._order is not None and asked[self._order.name] == _second(self._order)
        return self._descending != turned

    def _direction(self, asked: Asked) -> str:
        return "DESC" if self._down(asked) else "ASC"


def _condition(where: Where, value: Any, values: Values) -> str:
    if where.words:
        words = value if isinstance(value, tuple) else (value,)
        return f"({' OR '.join(where.words[word] for word in words)})"
    return where.sql.format(values.add(list(value) if isinstance(value, tuple) else value))


def _second(order: Kind) -> str:
    word: str = order.described.type.__args__[1]
    return word
