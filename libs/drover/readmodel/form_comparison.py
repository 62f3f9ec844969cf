"""Compares the SQL of two forms of a read model: can the new one be made from the old one in place?

Reads the SQL that `make contracts` generates, not SQL in general. Whatever it does not understand must be unchanged.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

_TABLE: Final = re.compile(r"CREATE TABLE (\w+) \(\n(.*?)\n\)([^\n]*);", re.DOTALL)
_VIEW: Final = re.compile(r"CREATE VIEW (\w+) AS\nSELECT (.*?)\n(FROM .*?);$", re.DOTALL | re.MULTILINE)
_QUERY: Final = re.compile(r"^CREATE VIEW (\w+) AS\n(.*?);$", re.DOTALL | re.MULTILINE)
_INDEX: Final = re.compile(r"CREATE INDEX [^\n]*;")
_NEXT_COLUMN: Final = re.compile(r",\n {7}(?! )")
_NOT_NULL: Final = (" NOT NULL", " PRIMARY KEY")


class _Parts(msgspec.Struct, frozen=True):
    tables: dict[str, dict[str, str]]
    """By table, its columns, each with its type. The SQL that follows the columns is kept as a column with an empty
    name."""
    views: dict[str, tuple[frozenset[str], str]]
    """By view, its columns and what it selects them from."""
    indices: frozenset[str]
    rest: str
    """All SQL that is not a table, a view or an index."""


def only_adds(before: str, now: str) -> bool:
    """Return whether `now` only adds nullable columns, columns of views, and indices. Then the tables of `before` can
    be extended, and programs that know `before` can go on. Both are SQL without comments."""
    old, new = _parts(before), _parts(now)
    return (
        old.rest == new.rest
        and old.indices <= new.indices
        and old.tables.keys() == new.tables.keys()
        and all(_extends(columns, new.tables[name]) for name, columns in old.tables.items())
        and old.views.keys() == new.views.keys()
        and all(source == new.views[name][1] for name, (_, source) in old.views.items())
        and all(columns <= new.views[name][0] for name, (columns, _) in old.views.items())
    )


def _extends(old: dict[str, str], new: dict[str, str]) -> bool:
    added = [kind for name, kind in new.items() if name not in old]
    return old.items() <= new.items() and not any(mark in f" {kind}" for kind in added for mark in _NOT_NULL)


def _parts(ddl: str) -> _Parts:
    tables = {name: _columns(body, tail) for name, body, tail in _TABLE.findall(ddl)}
    views = {name: (frozenset(_NEXT_COLUMN.split(columns)), source) for name, columns, source in _VIEW.findall(ddl)}
    indices = frozenset(_INDEX.findall(ddl))
    rest = ddl
    for pattern in (_TABLE, _VIEW, _INDEX):
        rest = pattern.sub("", rest)
    return _Parts(tables, views, indices, "\n".join(line for line in rest.splitlines() if line.strip()))


def _columns(body: str, tail: str) -> dict[str, str]:
    columns = {"": tail}
    for line in body.split("\n"):
        name, _, kind = line.strip().removesuffix(",").partition(" ")
        columns[name] = kind.strip()
    return columns


def view_queries(ddl: str) -> dict[str, str]:
    """Return the query of each view, by name."""
    return dict(_QUERY.findall(ddl))
