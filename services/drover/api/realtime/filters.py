"""Parses filters of subscriptions, `column=op.value`, by the type of the column, and tests rows. Pure."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from uuid import UUID

import msgspec

from drover.api.realtime.limits import (
    CONDITIONS_MAX,
    FILTER_CHARS_MAX,
    IN_VALUES_MAX,
    PATTERN_CHARS_MAX,
    PATTERN_COMPARISONS,
)
from drover.api.realtime.patterns import parse_pattern
from drover.domain.errors import DroverError
from drover.readmodel.column import PgType
from drover.readmodel.live import LiveRelation

Row = Mapping[str, Any]
Test = Callable[[Any, Any], bool]

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_CONDITION: Final = re.compile(rf"({_NAME})=(not\.)?([a-z]+)\.(.*)", re.DOTALL)
_NEXT: Final = re.compile(rf",(?={_NAME}=(?:not\.)?[a-z]+\.)")
"""A comma that separates two conditions. Other commas belong to the value."""
_ITEM: Final = re.compile(r'(?:"((?:[^"\\]|\\.)*)"|([^,]*))(?:,|$)', re.DOTALL)


class BadFilter(DroverError):
    """The filter cannot be evaluated. The message says why."""


class Condition(msgspec.Struct, frozen=True, gc=False):
    column: str
    op: str
    value: Any
    """Converted like the values of rows (`comparable`). A frozenset for `in`, a pattern for `like`."""
    type: PgType
    negated: bool = False

    @property
    def comparisons(self) -> int:
        """How many comparisons it costs to test a row. A pattern counts as several."""
        return PATTERN_COMPARISONS if self.op in _PATTERNS else 1

    @property
    def is_equality(self) -> bool:
        return self.op == "eq" and not self.negated

    def holds(self, value: Any) -> bool:
        """Whether a value of a row meets the condition. Compares as SQL does: null equals nothing."""
        test = _NULL_TESTS.get(self.op)
        if test is not None:
            return test(value, self.value) != self.negated
        return value is not None and _TESTS[self.op](value, self.value) != self.negated


def _is(value: Any, wanted: Any) -> bool:
    return value is wanted


_TESTS: Final[dict[str, Test]] = {
    "eq": operator.eq,
    "neq": operator.ne,
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
    "in": lambda value, wanted: value in wanted,
    "like": lambda value, wanted: wanted.matches(value),
    "ilike": lambda value, wanted: wanted.matches(value),
}
_NULL_TESTS: Final[dict[str, Test]] = {"is": _is, "isdistinct": operator.ne}
"""The tests that can be true for null. All others are false for it."""
_PATTERNS: Final = frozenset({"like", "ilike"})
_IS: Final = {"null": None, "unknown": None, "true": True, "false": False}
_BOOLEANS: Final = {"true": True, "t": True, "false": False, "f": False}


def _boolean(text: str) -> bool:
    return _BOOLEANS[text.lower()]


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _number(text: str) -> Decimal:
    found = Decimal(text)
    if not found.is_finite():  # NaN cannot be compared
        raise ValueError(text)
    return found


_PARSE: Final[dict[PgType, Callable[[str], Any]]] = {
    PgType.TEXT: str,
    PgType.UUID: lambda text: str(UUID(text)),
    PgType.INTEGER: int,
    PgType.BIGINT: int,
    PgType.NUMERIC: _number,
    PgType.FLOAT: float,
    PgType.BOOLEAN: _boolean,
    PgType.TIMESTAMPTZ: _moment,
    PgType.DATE: date.fromisoformat,
}
_FROM_ROW: Final[dict[PgType, Callable[[Any], Any]]] = {
    PgType.TEXT: str,  # a scalar may be a number
    PgType.NUMERIC: lambda value: Decimal(str(value)),
    PgType.TIMESTAMPTZ: _moment,
    PgType.DATE: date.fromisoformat,
}


def comparable(value: Any, type_: PgType) -> Any:
    """Convert a value of a decoded row so that conditions can compare it."""
    convert = _FROM_ROW.get(type_)
    return value if convert is None or value is None else convert(value)


def parse_filter(text: str, live: LiveRelation) -> tuple[Condition, ...]:
    """Parse a filter into conditions that must all hold. An empty filter has none."""
    if len(text) > FILTER_CHARS_MAX:
        raise BadFilter(f"The filter is longer than {FILTER_CHARS_MAX} characters")
    parts = _NEXT.split(text) if text else []
    if len(parts) > CONDITIONS_MAX:
        raise BadFilter(f"The filter has more than {CONDITIONS_MAX} conditions")
    return tuple(_parse_condition(part, live) for part in parts)


def _parse_condition(text: str, live: LiveRelation) -> Condition:
    match = _CONDITION.fullmatch(text.strip())
    if match is None:
        raise BadFilter("A filter has the form column=op.value, such as id=eq.1")
    column, negated, op, rest = match.groups()
    type_ = live.relation.client_type(column)
    if type_ is None:
        raise BadFilter(f"There is no column {column} in {live.name}")
    if column in live.withheld or type_ not in _PARSE:
        raise BadFilter(f"The column {column} cannot be filtered here")
    if op not in _TESTS and op not in _NULL_TESTS:
        raise BadFilter(f"The operator {op} is not known; use {', '.join((*_TESTS, *_NULL_TESTS))}")
    return Condition(column, op, _parse_value(op, rest, column, type_, live), type_, negated is not None)


def _parse_value(op: str, text: str, column: str, type_: PgType, live: LiveRelation) -> Any:
    if op == "is":
        if text.lower() not in _IS:
            raise BadFilter("is takes null, true, false or unknown")
        return _IS[text.lower()]
    if op == "isdistinct" and text == "null":
        return None
    if op in _PATTERNS:
        if type_ is not PgType.TEXT:
            raise BadFilter(f"{op} compares text, and {column} is {type_}")
        if len(text) > PATTERN_CHARS_MAX:
            raise BadFilter(f"The pattern is longer than {PATTERN_CHARS_MAX} characters")
        return parse_pattern(_unquoted(text), ignores_case=op == "ilike")
    aliases = live.relation.aliases.get(column, {}) if op in ("eq", "neq", "in") else {}

    def parse(item: str) -> Any:
        try:
            return _PARSE[type_](aliases.get(item, item))
        except (ValueError, KeyError, InvalidOperation) as error:
            raise BadFilter(f"{item[:64]!r} is not a value of {column}, which is {type_}") from error

    if op != "in":
        return parse(_unquoted(text))
    if not (text.startswith("(") and text.endswith(")")):
        raise BadFilter("in takes a list in parentheses, such as id=in.(1,2)")
    items = _items(text[1:-1])
    if len(items) > IN_VALUES_MAX:
        raise BadFilter(f"in takes at most {IN_VALUES_MAX} values")
    return frozenset(map(parse, items))


def _items(text: str) -> list[str]:
    items, at = [], 0
    while at < len(text):
        match = _ITEM.match(text, at)
        if match is None:
            raise BadFilter("The list of in cannot be read")
        items.append(match[2].strip() if match[1] is None else _unescaped(match[1]))
        at = match.end()
    return items


def _unquoted(text: str) -> str:
    is_quoted = len(text) >= 2 and text[0] == text[-1] == '"'
    return _unescaped(text[1:-1]) if is_quoted else text


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
