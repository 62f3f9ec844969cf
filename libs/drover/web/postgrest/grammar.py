"""The parser: turns a query string into a `Query`, or raises PGRST100. Pure; repetition and nesting are bounded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal
from urllib.parse import parse_qsl

from msgspec.structs import replace

from drover.web.errors import ApiError
from drover.web.postgrest.ast import Condition, Order, Query
from drover.web.postgrest.cursor import Cursor, parse_error
from drover.web.postgrest.filters import (
    FILTERS_MAX,
    JUNCTIONS,
    count_filters,
    parse_field_filter,
    parse_filter,
    parse_logic,
)
from drover.web.postgrest.select import parse_select

__all__ = [
    "ROW_NUMBER_MAX",
    "not_embedded",
    "out_of_range",
    "parse_error",
    "parse_filter",
    "parse_order",
    "parse_query",
    "parse_select",
    "split_parameters",
]

QUERY_CHARS_MAX: Final = 16 * 1024
PARAMETERS_MAX: Final = 64
ORDER_TERMS_MAX: Final = 8
ROW_NUMBER_MAX: Final = 2**31 - 1

_IGNORED: Final = frozenset({"select", "columns", "on_conflict"})  # select is parsed before
_NEGATED: Final = (["not", "and"], ["not", "or"])


def out_of_range(details: str) -> ApiError:
    return ApiError(416, "PGRST103", "Requested range not satisfiable", details=details)


def split_parameters(query_string: str) -> list[tuple[str, str]]:
    """Decode the parameters of a raw query string, in order. A name may come several times."""
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
    query = Query()
    for key, value in parameters:
        if key == "select":
            query = Query(select=parse_select(value))
    filters = 0
    for key, value in parameters:
        if key in _IGNORED:
            continue
        embeds, word = _address(key)
        if word in ("order", "limit", "offset"):
            change = _setting(word, key, value)
        else:
            condition = parse_logic(word, value) if word in JUNCTIONS else parse_field_filter(word, value)
            filters += count_filters([condition])
            change = _condition(condition)
        query = _changed(query, embeds, change)
    if filters > FILTERS_MAX:
        raise parse_error("The query has too many filters", f"At most {FILTERS_MAX}")
    return query


def parse_order(text: str) -> tuple[Order, ...]:
    cursor = Cursor(text, f"failed to parse order ({text[:200]})")
    terms: list[Order] = []
    while True:
        terms.append(_order_term(cursor))
        if len(terms) > ORDER_TERMS_MAX:
            raise cursor.error(f"at most {ORDER_TERMS_MAX} columns")
        if not cursor.take(","):
            cursor.end()
            return tuple(terms)


def _address(key: str) -> tuple[list[str], str]:
    """Split `jobs.videos.not.or` into the embeds that it applies to, outermost first, and the rest."""
    head, arrow, path = key.partition("->")  # dots after an arrow belong to a JSON key
    names = head.split(".")
    own = 2 if names[-2:] in _NEGATED else 1
    return names[:-own], ".".join(names[-own:]) + arrow + path


def _changed(query: Query, embeds: Sequence[str], change: Callable[[Query], Query]) -> Query:
    """Return a copy of the query with `change` applied to the query itself or, if `embeds` is not empty, to the embed
    at this path."""
    if not embeds:
        return change(query)
    embed = query.embed(embeds[0])
    if embed is None:
        raise not_embedded(embeds[0])
    changed = replace(embed, query=_changed(embed.query, embeds[1:], change))
    return replace(query, select=tuple(changed if item is embed else item for item in query.select))


def not_embedded(name: str) -> ApiError:
    return ApiError(
        400,
        "PGRST108",
        f"'{name[:64]}' is not an embedded resource in this request",
        hint=f"Verify that '{name[:64]}' is included in the 'select' query parameter.",
    )


def _setting(word: str, key: str, value: str) -> Callable[[Query], Query]:
    if word == "order":
        order = parse_order(value)
        return lambda query: replace(query, order=order)
    number = _row_number(key, value)
    return lambda query: replace(query, limit=number) if word == "limit" else replace(query, offset=number)


def _condition(condition: Condition) -> Callable[[Query], Query]:
    return lambda query: replace(query, where=(*query.where, condition))


def _order_term(cursor: Cursor) -> Order:
    cursor.spaces()
    column, embed = cursor.identifier(), None
    if cursor.take("("):
        column, embed = cursor.identifier(), column
    path = cursor.path()
    if embed is not None:
        cursor.expect(")")
    descending = cursor.take(".desc")
    if not descending:
        cursor.take(".asc")
    nulls: Literal["first", "last"] | None = None
    if cursor.take(".nullsfirst"):
        nulls = "first"
    elif cursor.take(".nullslast"):
        nulls = "last"
    cursor.spaces()
    if cursor.sees("."):
        raise cursor.unexpected("asc, desc, nullsfirst or nullslast")
    return Order(column, descending, nulls, path, embed)


def _row_number(key: str, value: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,10}", value, re.ASCII) or int(value) > ROW_NUMBER_MAX:
        raise parse_error(f"failed to parse {key[:64]} ({value[:32]})", f"A whole number up to {ROW_NUMBER_MAX}")
    if int(value) < 0:
        raise out_of_range(f"{key[:64]} must not be negative")
    return int(value)
