"""The parser: a query string in, a `Query` out, or PGRST100. Pure; every repetition and nesting has a bound."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, cast, get_args
from urllib.parse import parse_qsl

from drover.web.errors import ApiError
from drover.web.postgrest.ast import Column, Condition, Embed, Filter, Item, Junction, Operator, Order, Query, Star

QUERY_CHARS_MAX: Final = 16 * 1024
PARAMETERS_MAX: Final = 64
FILTERS_MAX: Final = 64
IN_VALUES_MAX: Final = 500
SELECT_ITEMS_MAX: Final = 64
ORDER_TERMS_MAX: Final = 8
NESTING_MAX: Final = 5
ROW_NUMBER_MAX: Final = 2**31 - 1

OPERATORS: Final = frozenset(get_args(Operator))
IS_VALUES: Final = frozenset({"null", "not_null", "true", "false", "unknown"})
_IGNORED: Final = frozenset({"columns", "on_conflict"})
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_JUNCTIONS: Final[dict[str, tuple[Literal["and", "or"], bool]]] = {
    "and": ("and", False),
    "or": ("or", False),
    "not.and": ("and", True),
    "not.or": ("or", True),
}


def parse_error(message: str, details: str | None = None) -> ApiError:
    return ApiError(400, "PGRST100", message, details=details)


def out_of_range(details: str) -> ApiError:
    return ApiError(416, "PGRST103", "Requested range not satisfiable", details=details)


def split_parameters(query_string: str) -> list[tuple[str, str]]:
    """The decoded parameters of a raw query string, in their order, repeated ones included."""
    if len(query_string) > QUERY_CHARS_MAX:
        raise parse_error("The query is too long", f"At most {QUERY_CHARS_MAX} characters")
    try:
        pairs = parse_qsl(query_string, keep_blank_values=True, errors="strict", max_num_fields=PARAMETERS_MAX)
    except UnicodeDecodeError as error:
        raise parse_error("The query is not valid UTF-8") from error
    except ValueError as error:
        raise parse_error("The query has too many parameters", f"At most {PARAMETERS_MAX}") from error
    if "\0" in query_string or "%00" in query_string:
        raise parse_error("The query must not contain the character NUL")
    return pairs


def parse_query(parameters: Sequence[tuple[str, str]]) -> Query:
    select: tuple[Item, ...] = (Star(),)
    order: tuple[Order, ...] = ()
    where: list[Condition] = []
    limit: int | None = None
    offset = 0
    for key, value in parameters:
        if key == "select":
            select = parse_select(value)
        elif key == "order":
            order = parse_order(value)
        elif key == "limit":
            limit = _row_number(key, value)
        elif key == "offset":
            offset = _row_number(key, value)
        elif key in _JUNCTIONS:
            where.append(_parse_logic(key, value))
        elif key not in _IGNORED:
            where.append(parse_filter(key, value))
    if _count(where) > FILTERS_MAX:
        raise parse_error("The query has too many filters", f"At most {FILTERS_MAX}")
    return Query(select, tuple(where), order, limit, offset)


def parse_filter(column: str, text: str) -> Filter:
    """`[not.]op.value` as it stands after `column=`: here the value is everything that follows, quotes and all."""
    cursor = _Cursor(text, f"failed to parse filter ({text[:200]})")
    _check_column(column, cursor)
    negated = cursor.take("not.")
    operator = cursor.operator()
    if operator == "in":
        value: str | tuple[str, ...] = cursor.list_of_values()
        cursor.end()
    else:
        value = cursor.rest()
    return _filter(column, operator, value, negated, cursor)


def parse_select(text: str) -> tuple[Item, ...]:
    if not text.strip():
        return (Star(),)
    cursor = _Cursor(text, f"failed to parse select parameter ({text[:200]})")
    items = _select_items(cursor, 1)
    cursor.end()
    return items


def parse_order(text: str) -> tuple[Order, ...]:
    cursor = _Cursor(text, f"failed to parse order ({text[:200]})")
    terms = text.split(",")
    if len(terms) > ORDER_TERMS_MAX:
        raise cursor.error(f"at most {ORDER_TERMS_MAX} columns")
    return tuple(_order_term(term, cursor) for term in terms)


def _order_term(text: str, cursor: _Cursor) -> Order:
    column, *words = text.strip().split(".")
    _check_column(column, cursor)
    descending = False
    nulls: Literal["first", "last"] | None = None
    if words and words[0] in ("asc", "desc"):
        descending = words.pop(0) == "desc"
    if words and words[0] in ("nullsfirst", "nullslast"):
        nulls = "first" if words.pop(0) == "nullsfirst" else "last"
    if words:
        raise cursor.error(f'unexpected "{words[0]}"; expecting asc, desc, nullsfirst or nullslast')
    return Order(column, descending, nulls)


def _row_number(key: str, value: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,10}", value, re.ASCII) or int(value) > ROW_NUMBER_MAX:
        raise parse_error(f"failed to parse {key} ({value[:32]})", f"A whole number up to {ROW_NUMBER_MAX}")
    if int(value) < 0:
        raise out_of_range(f"{key} must not be negative")
    return int(value)


def _count(conditions: Sequence[Condition]) -> int:
    return sum(1 if isinstance(part, Filter) else _count(part.parts) for part in conditions)


def _check_column(name: str, cursor: _Cursor) -> None:
    if not _IDENTIFIER.fullmatch(name):
        raise cursor.error(f'"{name[:64]}" is not the name of a column')


def _filter(column: str, operator: Operator, value: str | tuple[str, ...], negated: bool, cursor: _Cursor) -> Filter:
    if operator == "is":
        assert isinstance(value, str)
        value = value.lower()
        if value not in IS_VALUES:
            raise cursor.error(f"is takes one of {', '.join(sorted(IS_VALUES))}")
    return Filter(column, operator, value, negated)


def _parse_logic(key: str, text: str) -> Junction:
    cursor = _Cursor(text, f"failed to parse logic tree ({text[:200]})")
    kind, negated = _JUNCTIONS[key]
    junction = Junction(kind, _logic_parts(cursor, 1), negated)
    cursor.end()
    return junction


def _logic_parts(cursor: _Cursor, depth: int) -> tuple[Condition, ...]:
    if depth > NESTING_MAX:
        raise cursor.error(f"nested more than {NESTING_MAX} deep")
    cursor.expect("(")
    parts: list[Condition] = []
    while True:
        parts.append(_logic_part(cursor, depth))
        if len(parts) > FILTERS_MAX:
            raise cursor.error(f"at most {FILTERS_MAX} filters")
        if not cursor.take(","):
            cursor.expect(")")
            return tuple(parts)


def _logic_part(cursor: _Cursor, depth: int) -> Condition:
    for word, (kind, negated) in _JUNCTIONS.items():
        if cursor.take(f"{word}("):
            cursor.back()
            return Junction(kind, _logic_parts(cursor, depth + 1), negated)
    column = cursor.identifier()
    cursor.expect(".")
    negated = cursor.take("not.")
    operator = cursor.operator()
    value = cursor.list_of_values() if operator == "in" else cursor.value()
    return _filter(column, operator, value, negated, cursor)


def _select_items(cursor: _Cursor, depth: int) -> tuple[Item, ...]:
    if depth > NESTING_MAX:
        raise cursor.error(f"nested more than {NESTING_MAX} deep")
    items: list[Item] = []
    while True:
        items.append(_select_item(cursor, depth))
        if len(items) > SELECT_ITEMS_MAX:
            raise cursor.error(f"at most {SELECT_ITEMS_MAX} columns")
        if not cursor.take(","):
            return tuple(items)


def _select_item(cursor: _Cursor, depth: int) -> Item:
    cursor.spaces()
    if cursor.take("*"):
        cursor.spaces()
        return Star()
    name, alias = cursor.identifier(), None
    if cursor.take(":"):
        name, alias = cursor.identifier(), name
    inner = False
    while cursor.take("!"):
        inner = cursor.identifier() == "inner" or inner
    if cursor.take("("):
        items = _select_items(cursor, depth + 1)
        cursor.expect(")")
        cursor.spaces()
        return Embed(name, items, alias, inner)
    cursor.spaces()
    return Column(name, alias)


class _Cursor:
    """A place in a text."""

    def __init__(self, text: str, failure: str) -> None:
        self._text = text
        self._at = 0
        self._failure = failure

    def error(self, details: str) -> ApiError:
        return parse_error(self._failure, details)

    def _unexpected(self, expecting: str) -> ApiError:
        found = f'"{self._text[self._at]}"' if self._at < len(self._text) else "end of input"
        return self.error(f"(column {self._at + 1}) unexpected {found}; expecting {expecting}")

    def take(self, word: str) -> bool:
        if self._text.startswith(word, self._at):
            self._at += len(word)
            return True
        return False

    def back(self) -> None:
        self._at -= 1

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise self._unexpected(f'"{word}"')

    def spaces(self) -> None:
        while self.take(" "):
            pass

    def end(self) -> None:
        if self._at < len(self._text):
            raise self._unexpected("end of input")

    def rest(self) -> str:
        return self._text[self._at :]

    def identifier(self) -> str:
        match = _IDENTIFIER.match(self._text, self._at)
        if match is None:
            raise self._unexpected("a name")
        self._at = match.end()
        return match.group()

    def operator(self) -> Operator:
        dot = self._text.find(".", self._at)
        word = self._text[self._at : dot] if dot >= 0 else ""
        if word not in OPERATORS:
            raise self._unexpected(f'"not" or an operator ({", ".join(sorted(OPERATORS))}) and "."')
        self._at = dot + 1
        return cast(Operator, word)

    def value(self) -> str:
        """A value inside a list or a logic tree: quoted, or up to the next comma or parenthesis."""
        if self.take('"'):
            return self._quoted()
        start = self._at
        if self._text.startswith("{", start):  # the text of an array: commas in it are its own
            close = self._text.find("}", start)
            self._at = close + 1 if close >= 0 else len(self._text)
            return self._text[start : self._at]
        while self._at < len(self._text) and self._text[self._at] not in ",)":
            self._at += 1
        return self._text[start : self._at]

    def _quoted(self) -> str:
        chars: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 1
            if char == '"':
                return "".join(chars)
            if char == "\\" and self._at < len(self._text):
                char = self._text[self._at]
                self._at += 1
            chars.append(char)
        raise self._unexpected('"\\""')

    def list_of_values(self) -> tuple[str, ...]:
        self.expect("(")
        if self.take(")"):
            return ()
        values: list[str] = []
        while True:
            values.append(self.value())
            if len(values) > IN_VALUES_MAX:
                raise self.error(f"at most {IN_VALUES_MAX} values")
            if not self.take(","):
                self.expect(")")
                return tuple(values)
