"""Parses filters and logic trees: `col=not.in.(a,b)`, `or=(a.eq.1,and(b.gt.2,c.is.null))`. Pure, and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from drover.web.postgrest.ast import Condition, Filter, Junction, Operator, Path
from drover.web.postgrest.cursor import IDENTIFIER, Cursor, parse_error

FILTERS_MAX: Final = 64
LOGIC_DEPTH_MAX: Final = 5

IS_VALUES: Final = frozenset({"null", "not_null", "true", "false", "unknown"})
JUNCTIONS: Final[dict[str, tuple[Literal["and", "or"], bool]]] = {
    "and": ("and", False),
    "or": ("or", False),
    "not.and": ("and", True),
    "not.or": ("or", True),
}


def parse_filter(column: str, text: str) -> Filter:
    """Parse the `[not.]op.value` after `column=`, for a plain column. Writes support only such filters."""
    if not IDENTIFIER.fullmatch(column):
        raise parse_error(_failure(text), f'"{column[:64]}" is not the name of a column')
    return _after_column(column, None, text)


def parse_field_filter(field: str, text: str) -> Filter:
    """Parse a filter as `parse_filter` does, but the field may be a path into a JSON column: `data->a->>b=eq.1`."""
    cursor = Cursor(field, f"failed to parse filter ({field[:64]}={text[:200]})")
    column, path = cursor.identifier(), cursor.path()
    cursor.end()
    return _after_column(column, path, text)


def parse_logic(key: str, text: str) -> Junction:
    cursor = Cursor(text, f"failed to parse logic tree ({text[:200]})")
    kind, negated = JUNCTIONS[key]
    junction = Junction(kind, _parts(cursor, 1), negated)
    cursor.end()
    return junction


def count_filters(conditions: Sequence[Condition]) -> int:
    return sum(1 if isinstance(part, Filter) else count_filters(part.parts) for part in conditions)


def _failure(text: str) -> str:
    return f"failed to parse filter ({text[:200]})"


def _after_column(column: str, path: Path | None, text: str) -> Filter:
    """Parse what comes after `column=`. Here the value is all remaining text, including quotes."""
    cursor = Cursor(text, _failure(text))
    negated = cursor.take("not.")
    operator = cursor.operator()
    if operator == "in":
        value: str | tuple[str, ...] = cursor.list_of_values()
        cursor.end()
    else:
        value = cursor.rest()
    return _filter(column, operator, value, negated, path, cursor)


def _parts(cursor: Cursor, depth: int) -> tuple[Condition, ...]:
    if depth > LOGIC_DEPTH_MAX:
        raise cursor.error(f"nested more than {LOGIC_DEPTH_MAX} deep")
    cursor.expect("(")
    parts = cursor.separated(lambda: _part(cursor, depth), FILTERS_MAX, "filters")
    cursor.expect(")")
    return parts


def _part(cursor: Cursor, depth: int) -> Condition:
    for word, (kind, negated) in JUNCTIONS.items():
        if cursor.sees(f"{word}("):
            cursor.take(word)
            return Junction(kind, _parts(cursor, depth + 1), negated)
    column, path = cursor.identifier(), cursor.path()
    cursor.expect(".")
    negated = cursor.take("not.")
    operator = cursor.operator()
    value = cursor.list_of_values() if operator == "in" else cursor.value()
    return _filter(column, operator, value, negated, path, cursor)


def _filter(
    column: str, operator: Operator, value: str | tuple[str, ...], negated: bool, path: Path | None, cursor: Cursor
) -> Filter:
    if operator == "is":
        assert isinstance(value, str)
        value = value.lower()
        if value not in IS_VALUES:
            raise cursor.error(f"is takes one of: {', '.join(sorted(IS_VALUES))}")
    return Filter(column, operator, value, negated, path)
