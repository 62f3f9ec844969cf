"""Parses the query parameters of a stream. Refuses unknown ones: a filter with a typo would match everything, or
nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from multidict import MultiMapping

from drover.api.live.place import Place, parse_id
from drover.api.live.selection import Selection
from drover.web.errors import ApiError, invalid

LAST_ID_HEADER: Final = "Last-Event-ID"
LAST_ID: Final = "last_event_id"
TYPES_MAX: Final = 64
ENTITY_CHARS_MAX: Final = 200
SHOWN_CHARS_MAX: Final = 200
"""How many characters of a refused value are repeated in the error message."""

_TYPE: Final = re.compile(r"[A-Za-z*][A-Za-z0-9*]{0,63}")


class Wish(NamedTuple):
    contexts: tuple[str, ...]
    selection: Selection
    after: dict[str, Place]
    """The position to resume from in each context. Empty: the stream starts with new events."""
    after_field: str
    """The name of the header or parameter that gave the positions in `after`."""


def read_wish(headers: Mapping[str, str], query: MultiMapping[str], served: Sequence[str]) -> Wish:
    """Read the parameters of a stream. Raises 400 that names the invalid field."""
    for name in query:
        if name not in ("type", "entity", "context", LAST_ID):
            raise _bad(name, query[name], "Unknown parameter; use type, entity, context or last_event_id")
    contexts = _contexts(query, served)
    # A browser that reconnects sends the header and the original URL: the header is newer.
    field = LAST_ID_HEADER if headers.get(LAST_ID_HEADER) else LAST_ID
    last_id = headers.get(LAST_ID_HEADER) or _one(query, LAST_ID)
    after = {} if last_id is None else _after(field, last_id, served)
    wanted = {context: after[context] for context in contexts if context in after}
    return Wish(contexts, Selection(_types(query), _entity(query)), wanted, field)


def no_such_event(field: str, context: str, place: Place) -> ApiError:
    value = f"{context}={place.seq}.{place.line}"
    return _bad(field, value, f"There is no event {value} in this log; start without an id")


def _contexts(query: MultiMapping[str], served: Sequence[str]) -> tuple[str, ...]:
    asked = _list(query, "context")
    for name in asked:
        if name not in served:
            raise _bad("context", name, f"Unknown context; use one of {', '.join(served)}")
    return tuple(name for name in served if name in asked or not asked)


def _types(query: MultiMapping[str]) -> list[str]:
    types = _list(query, "type")
    if len(types) > TYPES_MAX:
        raise _bad("type", f"{len(types)} types", f"There are more than {TYPES_MAX}")
    for name in types:
        if _TYPE.fullmatch(name) is None:
            raise _bad("type", name, "Not an event type: write names such as JobCreated or Attempt*, with commas")
    return types


def _entity(query: MultiMapping[str]) -> str | None:
    entity = _one(query, "entity")
    if entity is not None and len(entity) > ENTITY_CHARS_MAX:
        raise _bad("entity", entity, f"It is longer than {ENTITY_CHARS_MAX} characters")
    return entity


def _after(field: str, last_id: str, served: Sequence[str]) -> dict[str, Place]:
    try:
        after = parse_id(last_id)
    except ValueError as error:
        raise _bad(field, last_id, str(error)) from None
    for context in after:
        if context not in served:
            raise _bad(field, last_id, f"There is no context {context} here")
    return after


def _list(query: MultiMapping[str], name: str) -> list[str]:
    return [item.strip() for value in query.getall(name, []) for item in value.split(",")]


def _one(query: MultiMapping[str], name: str) -> str | None:
    values = query.getall(name, [])
    if len(values) > 1:
        raise _bad(name, values[1], "It appears twice")
    if values and not values[0]:
        raise _bad(name, "", "It is empty")
    return values[0] if values else None


def _bad(field: str, value: str, why: str) -> ApiError:
    return invalid(f"{field}: {why}", field=field, value=value[:SHOWN_CHARS_MAX])
