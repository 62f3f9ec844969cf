"""Parses `select`: columns, aliases, JSON paths, casts, `count()`, nested embeds. Pure; nesting is bounded."""

from __future__ import annotations

from typing import Final

from drover.web.errors import ApiError
from drover.web.postgrest.ast import Column, Count, Embed, Item, Query, Star
from drover.web.postgrest.cursor import IDENTIFIER, Cursor

SELECT_ITEMS_MAX: Final = 64
EMBEDS_MAX: Final = 8
EMBED_DEPTH_MAX: Final = 3
"""How deep embeds may be nested, as in `a(b(c(*)))`. Deeper ones are refused."""

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
    """Make the error for a feature that PostgREST has and this subset does not."""
    return ApiError(400, "PGRST127", "Feature not implemented", details=details)


def _items(cursor: Cursor, depth: int) -> tuple[Item, ...]:
    if depth > EMBED_DEPTH_MAX:
        raise cursor.error(f"nested more than {EMBED_DEPTH_MAX} deep")
    items = cursor.separated(lambda: _item(cursor, depth), SELECT_ITEMS_MAX, "columns")
    if len(items) > 1 and any(isinstance(item, Count) for item in items):
        raise not_implemented("count() must be the only item of its select: there is no grouping by columns.")
    return items


def _item(cursor: Cursor, depth: int) -> Item:
    cursor.spaces()
    if cursor.sees("..."):
        raise not_implemented("An embed cannot be spread (...) into its parent row.")
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
            raise not_implemented(f"{aggregate}() of a column; only count() of rows is supported.")
        raise cursor.unexpected("an aggregate function")
    cast = cursor.identifier() if cursor.take("::") else None
    if path is not None and alias is None:
        # Skip indices: `data->tags->0` is shown as `tags`.
        alias = next((key for key in reversed(path.keys) if not key.lstrip("-").isdigit()), name)
        if not IDENTIFIER.fullmatch(alias):
            raise cursor.error("this key cannot be a column name; add an alias, as in name:data->…")
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
    if cursor.take(")"):  # shows nothing; its filters still apply
        return Embed(name, Query(select=()), alias, inner, hint)
    select = _items(cursor, depth + 1)
    cursor.expect(")")
    return Embed(name, Query(select=select), alias, inner, hint)
