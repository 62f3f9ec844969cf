"""Lists over several contexts: one SELECT per context, with its own index, whose newest rows are merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from drover.api.reads.cursors import read_cursor
from drover.api.reads.database import ReadModels
from drover.api.reads.listing import Key, Page, Statement, Values, fetched, page_of
from drover.api.reads.parameters import CURSOR, LIMIT, LIMIT_DEFAULT, Asked, Kind
from drover.api.reads.queries import QUERIES
from drover.api.reads.records import maker

R = TypeVar("R", bound=msgspec.Struct)


class Branch(NamedTuple):
    """The conditions of the SELECT for one context."""

    context: str
    conditions: tuple[str, ...]


Branches = Callable[[Sequence[str], Asked, Values], list[Branch]]
"""Makes one branch per context from the contexts that have a read model, the request, and the parameters of the
statement. Without branches, the list is empty."""


class United(Generic[R]):
    """A list over several contexts, newest first, sorted by time, then context, then the other columns of the key."""

    def __init__(
        self,
        name: str,
        contexts: Sequence[str],
        row: type[R],
        key: Sequence[Key],
        kinds: Sequence[Kind],
        branches: Branches,
    ) -> None:
        self.name = name
        self.contexts = tuple(contexts)
        self.row = row
        self.kinds = (*kinds, LIMIT, CURSOR)
        self._time, *self._rest = key
        self._columns = (self._time.column, "context", *(part.column for part in self._rest))
        self._types = [self._time.type, str, *(part.type for part in self._rest)]
        self._branches = branches
        self._make: Callable[[Any], R] = maker(row)

    async def page(self, models: ReadModels, asked: Asked) -> Page[R]:
        limit = asked["limit"] or LIMIT_DEFAULT
        records = await models.fetch_united(self.contexts, lambda there: self.statement(there, asked))
        return page_of(records, limit, make=self._make, name=self.name, key=self._columns)

    def statement(self, contexts: Sequence[str], asked: Asked) -> Statement:
        values, limit = Values(), fetched(asked)
        after = self._after(asked, values)
        found = self._branches(contexts, asked, values)
        if not found:
            return Statement("SELECT 1 WHERE FALSE", [])  # nothing can match
        order = ", ".join(f"{part.sql} DESC" for part in (self._time, *self._rest))
        branches = [
            f"{self._select(branch.context)}\n"
            f"WHERE {' AND '.join((*branch.conditions, *after(branch.context))) or 'TRUE'}\n"
            f"ORDER BY {order}\nLIMIT {limit}"
            for branch in found
        ]
        merged = ", ".join(f"{column} DESC" for column in self._columns)
        united = " UNION ALL ".join(f"({branch})" for branch in branches)
        return Statement(f"SELECT * FROM ({united}) AS page ORDER BY {merged} LIMIT {limit}", values.all)  # noqa: S608

    def _select(self, context: str) -> str:
        assert context in self.contexts  # it becomes part of the SQL, so it must not come from a client
        return QUERIES[self.name].format(context=context)

    def _after(self, asked: Asked, values: Values) -> Callable[[str], tuple[str, ...]]:
        """Make the condition for the rows of a context that come after the cursor."""
        cursor = asked["cursor"]
        if cursor is None:
            return lambda context: ()
        time, context_, *rest = read_cursor(self.name, cursor, self._types)
        at = f"{values.add(time)}::{self._time.cast}"
        name = f"{values.add(context_)}::text"
        places = ", ".join(f"{values.add(value)}::{part.cast}" for value, part in zip(rest, self._rest, strict=True))
        columns = ", ".join(part.sql for part in self._rest)
        # Also compare the time alone, because the index is on it.
        return lambda context: (
            f"{self._time.sql} <= {at}",
            f"({self._time.sql}, '{context}'::text, {columns}) < ({at}, {name}, {places})",
        )
