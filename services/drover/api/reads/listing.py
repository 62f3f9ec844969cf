"""Lists that are paged by key: builds the SQL statement of a request, and turns its rows into a page.

A statement has a condition only for parameters that the request has, so that PostgreSQL plans each combination
separately. It first selects the keys of the page from one table, and then joins other tables to these rows only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from drover.api.reads.cursors import read_cursor, write_cursor
from drover.api.reads.database import ReadModels
from drover.api.reads.parameters import CURSOR, FROM, LIMIT, LIMIT_DEFAULT, LIMIT_MAX, TO, Asked, Kind
from drover.api.reads.queries import QUERIES
from drover.api.reads.records import maker
from drover.web.errors import not_found

R = TypeVar("R", bound=msgspec.Struct)


class Page(msgspec.Struct, Generic[R]):
    """One page of a list."""

    items: list[R]
    next: str | None
    """The `cursor` of the next page; null if this is the last one now."""


def page_of(records: Sequence[Any], limit: int, *, make: Callable[[Any], R], name: str, key: Sequence[str]) -> Page[R]:
    """Make a page of the first rows, with a cursor if there are more. `key`: the columns that the list is sorted by."""
    shown = records[:limit]
    last = shown[-1] if len(records) > limit else None
    cursor = None if last is None else write_cursor(name, [last[column] for column in key])
    return Page([make(record) for record in shown], cursor)


class Key(NamedTuple):
    """One column of a list's sort order. Together, the columns identify a row, and none of them is ever null."""

    column: str
    """The name of the column in the row."""
    sql: str
    """The name of the column in the query."""
    type: Any
    cast: str


class Where(NamedTuple):
    """A filter: the condition of a parameter."""

    kind: Kind
    sql: str = ""
    """The SQL condition. `{}` stands for the value of the parameter."""
    words: Mapping[str, str] = {}
    """For a parameter whose values have different conditions: the condition of each value."""
    fans: bool = False
    """If true, and the parameter has several values, the statement has one SELECT for each value, combined with UNION
    ALL. An index can return sorted rows only for a single value."""
    in_path: bool = False
    """Whether the value comes from the path instead of a query parameter."""


def within(column: str) -> tuple[Where, Where]:
    """Make the filters `from` and `to` for a column of times."""
    return Where(FROM, f"{column} >= {{}}"), Where(TO, f"{column} < {{}}")


FETCHED: Final = (26, 101, LIMIT_MAX + 1)
"""The values of LIMIT in statements. The smallest one above the requested limit is used: an extra row shows that there
is a next page. They are literals, because for a LIMIT parameter PostgreSQL would plan for a tenth of all rows."""


def fetched(asked: Asked) -> int:
    limit = asked["limit"] or LIMIT_DEFAULT
    return next(number for number in FETCHED if number > limit)


class Statement(NamedTuple):
    sql: str
    values: list[Any]


class Values:
    """Collects the parameters of a statement, in order."""

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
        """`table`: the table, with the alias that keys and conditions use. In the query with the list's name, `{page}`
        stands for the rows of the page. `order`: a request parameter whose second value reverses the order."""
        self.name = name
        self.context = context
        self.contexts = (context,)
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
        return page_of(records, limit, make=self._make, name=self.name, key=[part.column for part in self._key])

    async def one(self, models: ReadModels, what: str, condition: str, *values: Any) -> R:
        """Fetch the row that meets the condition. Raises 404 if there is none, with `what` as the name of the thing."""
        page = f"(SELECT * FROM {self._table} WHERE {condition}) AS {self._letter}"  # noqa: S608
        record = await models.fetch_one(self.context, self._query.format(page=page), *values)
        if record is None:
            raise not_found(what)
        return self._make(record)

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
        """Make the conditions of each SELECT. There is one SELECT, unless a parameter with `fans` has several
        values."""
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
