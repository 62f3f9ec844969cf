"""Describes how two rows that should be equal differ, for people to read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import itemgetter
from typing import Any, Final, Literal

import msgspec

from drover.readmodel.table import AppendTable, Key, KeyedTable

DIFFERENCES_KEPT: Final = 100
"""How many differences of a table are kept for people to read. All of them are counted."""
VALUE_CHARS_SHOWN: Final = 120

Table = KeyedTable[Any] | AppendTable
Kind = Literal["missing", "extra", "differs"]


class Difference(msgspec.Struct, frozen=True):
    table: str
    key: str
    kind: Kind
    """`missing`: the row follows from the log, but is not in the table. `extra`: it is in the table, but does not
    follow from the log."""
    columns: dict[str, tuple[str, str]] = {}
    """For a row that differs, by column: the value that follows from the log, and the value in the table."""


class TableReport(msgspec.Struct):
    table: str
    rows: int = 0
    """How many rows were compared."""
    different: int = 0
    examples: list[Difference] = []

    def note(self, key: Key, kind: Kind, columns: dict[str, tuple[str, str]] | None = None) -> None:
        self.different += 1
        if len(self.examples) < DIFFERENCES_KEPT:
            self.examples.append(Difference(self.table, shown(key), kind, columns or {}))


class Comparison:
    """Compares the rows of one table that follow from the log with its rows in the database."""

    def __init__(self, table: Table, added: Collection[str] = ()) -> None:
        """`added`: columns (`table.column`) that were added in place. In rows of earlier events they are null, which is
        no difference."""
        self.table = table
        self.report = TableReport(table.name)
        self._added = [i for i, name in enumerate(table.columns) if f"{table.name}.{name}" in added]
        types = list(table.types.values())
        self._json = [type_ == "jsonb" for type_ in types]
        plain = [i for i, type_ in enumerate(types) if type_ != "jsonb" and not type_.endswith("[]")]
        self._plain = itemgetter(*plain, plain[0])  # with two arguments or more it returns a tuple
        self._others = [(i, self._json[i]) for i in range(len(types)) if i not in plain]

    def compare(self, key: Key, wanted: tuple[Any, ...] | None, found: tuple[Any, ...] | None) -> None:
        self.report.rows += 1
        if wanted is None:
            self.report.note(key, "extra")
        elif found is None:
            self.report.note(key, "missing")
        elif (
            wanted != (found := self._filled(wanted, found))
            and not self._is_same(wanted, found)
            and (columns := self._columns(wanted, found))
        ):
            self.report.note(key, "differs", columns)

    def _filled(self, wanted: tuple[Any, ...], found: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the row found in the table. If a column that was added in place is null in it, fill in the wanted
        value, so that it does not count as a difference."""
        if not self._added:
            return found
        values = list(found)
        for i in self._added:
            if values[i] is None:
                values[i] = wanted[i]
        return tuple(values)

    def _is_same(self, wanted: tuple[Any, ...], found: tuple[Any, ...]) -> bool:
        """Return whether two rows are the same. JSON that differs only in how it is written counts as the same."""
        return self._plain(wanted) == self._plain(found) and all(
            _same(wanted[i], found[i], is_json) for i, is_json in self._others
        )

    def _columns(self, wanted: tuple[Any, ...], found: tuple[Any, ...]) -> dict[str, tuple[str, str]]:
        columns = zip(self.table.columns, self._json, wanted, found, strict=True)
        return {
            name: (shown(want), shown(have)) for name, is_json, want, have in columns if not _same(want, have, is_json)
        }


def _same(wanted: Any, found: Any, is_json: bool) -> bool:
    if wanted == found:
        return True
    if is_json and wanted is not None and found is not None:  # may be the same document, formatted differently
        return bool(msgspec.json.decode(wanted) == msgspec.json.decode(found))
    if isinstance(wanted, tuple | list) and isinstance(found, tuple | list):
        return list(wanted) == list(found)
    return False


def shown(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return text if len(text) <= VALUE_CHARS_SHOWN else text[: VALUE_CHARS_SHOWN - 1] + "…"


def total(reports: Iterable[TableReport]) -> int:
    return sum(report.different for report in reports)
