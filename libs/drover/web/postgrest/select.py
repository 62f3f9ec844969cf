"""Parses `select`: columns, aliases, JSON paths, casts, `count()`, embeds in embeds. Pure; nesting has a bound."""

from __future__ import annotations

from typing import Final

from drover.web.errors import ApiError
from drover.web.postgrest.ast import Column, Count, Embed, Item, Query, Star
from drover.web.postgrest.cursor import IDENTIFIER, Cursor

SELECT_ITEMS_MAX: Final = 64
EMBEDS_MAX: Final = 8
EMBED_DEPTH_MAX: Final = 3
"""How deep relations are embedded in one another: `a(b(c(*)))`."""

_JOINS: Final = frozenset({"inner", "left"})
_AGGREGATES: Final = frozenset({"count", "sum", "avg", "max", "min"})


def parse_select(text: str) -> tuple[Item, ...]:
    if not text.strip():
        return (Star(),)
    cursor = Cursor(text, f"failed to parse select parameter ({text[:200]})")
    items = _items(cursor, 0)
    cursor.end()
    if count_embeds(items) > EMBEDS_MAX:
        raise cursor.error(f"at most {EMBEDS_MAX} embedded relations")
    return items


def count_embeds(items: tuple[Item, ...]) -> int:
    return sum(1 + count_embeds(item.query.select) for item in items if isinstance(item, Embed))


def not_implemented(details: str) -> ApiError:
    """What PostgREST can do and this cannot."""
    return ApiError(400, "PGRST127", "Feature not implemented", details=details)


def _items(cursor: Cursor, depth: int) -> tuple[Item, ...]:
    if depth > EMBED_DEPTH_MAX:
        raise cursor.error(f"nested more than {EMBED_DEPTH_MAX} deep")
    items: list[Item] = []
    while True:
        items.append(_item(cursor, depth))
        if len(items) > SELECT_ITEMS_MAX:
            raise cursor.error(f"at most {SELECT_ITEMS_MAX} columns")
        if not cursor.take(","):
            break
    if len(items) > 1 and any(isinstance(item, Count) for item in items):
        raise not_implemented("count() stands alone in its select: nothing is grouped by other columns.")
    return tuple(items)


def _item(cursor: Cursor, depth: int) -> Item:
    cursor.spaces()
    if cursor.sees("..."):
        raise not_implemented("An embed cannot be spread (...) into the row that it is in.")
    item = Star() if cursor.take("*") else _named(cursor, depth)
    cursor.spaces()
    return item


def _named(cursor: Cursor, depth: int) -> Item:
    name, alias = cursor.identifier(), None
    if cursor.sees(":") and not cursor.sees("::"):
        cursor.take(":")
        name, alias = cursor.identifier(), name
    if cursor.sees("!") or (cursor.sees("(") and not (name == "count" and cursor.sees("()"))):
        return _embed(cursor, depth, name, alias)
    if cursor.take("()"):
        return Count(alias)
    path = cursor.path()
    if cursor.take("."):
        if (aggregate := cursor.identifier()) in _AGGREGATES:
            raise not_implemented(f"{aggregate}() of a column; count() alone counts rows.")
        raise cursor.unexpected("an aggregate function")
    cast = cursor.identifier() if cursor.take("::") else None
    if path is not None and alias is None:
        # Not an index: `data->tags->0` is shown as `tags`.
        alias = next((key for key in reversed(path.keys) if not key.lstrip("-").isdigit()), name)
        if not IDENTIFIER.fullmatch(alias):
            raise cursor.error("this key cannot name what is selected; give it a name, as in name:data->…")
    return Column(name, alias, path, cast)


def _embed(cursor: Cursor, depth: int, name: str, alias: str | None) -> Embed:
    inner, hint = False, None
    while cursor.take("!"):
        word = cursor.identifier()
        if word not in _JOINS:
            hint = word
        elif word == "inner":
            inner = True
    cursor.expect("(")
    if cursor.take(")"):  # nothing of it is shown; its filters count
        return Embed(name, Query(select=()), alias, inner, hint)
    select = _items(cursor, depth + 1)
    cursor.expect(")")
    return Embed(name, Query(select=select), alias, inner, hint)
