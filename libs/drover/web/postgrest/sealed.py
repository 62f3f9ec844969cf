"""Opens sealed columns in an answer: finds them in its rows and replaces them.

It knows neither the keys nor who may see a column.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec

from drover.domain.errors import DroverError
from drover.readmodel.relation import Relation
from drover.web.postgrest.ast import Column, Embed, Query, Star
from drover.web.postgrest.sight import Sight

ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
"""The maximum size of an answer with sealed columns, in bytes; a larger one is refused. This process must decode it,
which takes time."""
_ASIDE_BYTES: Final = 64 * 1024
"""Answers above this size are opened in a thread, so that the event loop stays free for heartbeats."""

Open = Callable[[str, str, str], bytes]
"""Opens a sealed text. Called with (relation, column, sealed text); returns the JSON in the text, or raises a
DroverError that says why it cannot."""
Unseal = Callable[[Sequence[str]], Awaitable[Open]]
"""Fetches the keys of these sealed texts, all at once, and returns the function that opens them."""

_decode_rows: Final = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_decode_whole: Final = msgspec.json.Decoder(list[dict[str, Any]]).decode
_decode_row: Final = msgspec.json.Decoder(dict[str, msgspec.Raw] | None).decode
_decode_text: Final = msgspec.json.Decoder(str | None).decode
_encode: Final = msgspec.json.Encoder().encode
_NULL: Final = msgspec.Raw(b"null")


class _Shown(msgspec.Struct, frozen=True):
    """A sealed column in the rows of an answer."""

    column: str
    key: str
    excuses: tuple[str, ...]
    """The columns of the same row that are filled with the reason if this column could not be opened."""


class Opening(msgspec.Struct, frozen=True):
    """Which columns to open in the rows of an answer, and in the rows embedded in them."""

    relation: str
    shown: tuple[_Shown, ...]
    embeds: tuple[tuple[str, Opening], ...]


def plan_opening(relation: Relation, query: Query, sight: Sight | None = None) -> Opening | None:
    """Plan which columns to open. None if the query selects nothing sealed."""
    relations = {} if sight is None else sight.relations
    names: dict[str, list[str]] = {}
    embeds: list[tuple[str, Opening]] = []
    for item in query.select:
        if isinstance(item, Star):
            for column in relation.columns:
                names.setdefault(column, []).append(column)
        elif isinstance(item, Column):
            names.setdefault(item.name, []).append(item.alias or item.name)
        elif isinstance(item, Embed) and (to := relation.relationships.get(item.relation)) is not None:
            target = relations.get(to.target)
            inner = None if target is None else plan_opening(target, item.query, sight)
            if inner is not None:
                embeds.append((item.key, inner))
    shown = tuple(
        _Shown(column, key, tuple(names.get(excuse or "", ())))
        for column, excuse in relation.sealed.items()
        for key in names.get(column, ())
    )
    return Opening(relation.name, shown, tuple(embeds)) if shown or embeds else None


async def open_answer(body: str, opening: Opening, unseal: Unseal) -> str:
    """Return the same answer (a JSON array of rows) with its sealed columns opened."""
    if len(body) < _ASIDE_BYTES:
        return _open_rows(body, opening, await unseal(_texts_in(body, opening)))
    texts = await asyncio.to_thread(_texts_in, body, opening)
    return await asyncio.to_thread(_open_rows, body, opening, await unseal(texts))


async def open_rows(relation: Relation, rows: list[dict[str, Any]], unseal: Unseal) -> list[dict[str, Any]]:
    """Open the sealed columns of whole rows, such as those of an answer to a write."""
    if not relation.sealed:
        return rows
    shown = tuple(
        _Shown(column, column, () if excuse is None else (excuse,)) for column, excuse in relation.sealed.items()
    )
    body = await open_answer(_encode(rows).decode(), Opening(relation.name, shown, ()), unseal)
    return _decode_whole(body)


async def leave_sealed(texts: Sequence[str]) -> Open:
    """An `Unseal` that opens nothing and leaves the sealed texts as they are, for rows that are opened later."""
    return lambda relation, column, text: _encode(text)


def _texts_in(body: str, opening: Opening) -> list[str]:
    """Find the sealed texts in an answer."""
    texts: list[str] = []

    def note(relation: str, column: str, text: str) -> bytes:
        texts.append(text)
        return b"null"

    for row in _decode_rows(body):
        _open_row(row, opening, note)
    return texts


def _open_rows(body: str, opening: Opening, open_: Open) -> str:
    rows = _decode_rows(body)
    for row in rows:
        _open_row(row, opening, open_)
    return _encode(rows).decode()


def _open_row(row: dict[str, msgspec.Raw], opening: Opening, open_: Open) -> None:
    for shown in opening.shown:
        sealed = _decode_text(row[shown.key]) if shown.key in row else None
        if sealed is None:
            continue
        try:
            row[shown.key] = msgspec.Raw(open_(opening.relation, shown.column, sealed))
        except DroverError as error:
            row[shown.key] = _NULL
            for excuse in shown.excuses:
                row[excuse] = msgspec.Raw(_encode(str(error)))
    for key, inner in opening.embeds:
        if key in row:
            row[key] = msgspec.Raw(_encode(_opened(row[key], inner, open_)))


def _opened(value: msgspec.Raw, opening: Opening, open_: Open) -> Any:
    """Open an embedded value: rows, one row, or null."""
    if bytes(value)[:1] == b"[":
        rows = _decode_rows(value)
        for row in rows:
            _open_row(row, opening, open_)
        return rows
    one = _decode_row(value)
    if one is not None:
        _open_row(one, opening, open_)
    return one
