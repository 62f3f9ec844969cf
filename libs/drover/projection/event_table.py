"""The table `events` that every context has: its DDL, its description, and how an event becomes its row."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any, Final

from msgspec import UNSET

from drover.domain.event import Event
from drover.projection.projection import AppendTable, Position, Tables

EVENTS: Final = AppendTable(
    name="events",
    types={
        "seq": "bigint",
        "line": "int",
        "n": "bigint",
        "at": "timestamptz",
        "type": "text",
        "by": "text",
        "cause": "text",
        "trace": "text",
        "entities": "text[]",
        "data": "jsonb",
    },
    key=("seq", "line"),
)
ENTITIES_MAX: Final = 4
"""So many of an event's entities can be searched by: each has an index of its own."""
EVENTS_DDL: Final = (files("drover.projection") / "event_table.sql").read_text(encoding="utf-8")

_NUL: Final = "\\u0000"
_ESCAPED_NUL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def append_event(tables: Tables, event: Event, entities: tuple[str, ...], raw: str, position: Position) -> None:
    """Add the row of an event that is about these entities. All of it is immutable: garbage collection lets it be."""
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
    """Postgres has no NUL in text or jsonb. The read model shows U+FFFD in its place; the log keeps what was said."""
    *fields, entities, _ = (value.replace("\0", "�") if isinstance(value, str) else value for value in row)
    return (*fields, tuple(entity.replace("\0", "�") for entity in entities), jsonb_text(raw))


def jsonb_text(raw: str) -> str:
    """JSON that `jsonb` accepts."""
    return _ESCAPED_NUL.sub(r"\1\\ufffd", raw) if _NUL in raw else raw
