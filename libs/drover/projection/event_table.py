"""Adds each event to its context's table `events`."""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec import UNSET

from drover.domain.event import Event
from drover.projection.projection import Position, Tables
from drover.readmodel.events import EVENTS

_NUL: Final = "\\u0000"
_ESCAPED_NUL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def append_event(tables: Tables, event: Event, entities: tuple[str, ...], raw: str, position: Position) -> None:
    """Add the row of an event to `events`, with the ids of its entities. All its values are immutable, so garbage
    collection ignores the row."""
    seq, line = position
    trace = event.trace
    row = (
        seq,
        line,
        event.n,
        event.at,
        type(event).__name__,
        event.by,
        event.cause,
        None if trace is UNSET else trace,
        entities,
        raw,
    )
    tables.append(EVENTS, row if _NUL not in raw else without_nul(row, raw))


def without_nul(row: tuple[Any, ...], raw: str) -> tuple[Any, ...]:
    """Replace NUL by U+FFFD, because Postgres accepts no NUL in text or jsonb. The log keeps the original."""
    *fields, entities, _ = (value.replace("\0", "�") if isinstance(value, str) else value for value in row)
    return (*fields, tuple(entity.replace("\0", "�") for entity in entities), jsonb_text(raw))


def jsonb_text(raw: str) -> str:
    """Return JSON text that Postgres accepts as `jsonb`."""
    return _ESCAPED_NUL.sub(r"\1\\ufffd", raw) if _NUL in raw else raw
