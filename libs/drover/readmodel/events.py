"""Every context's table `events`: one row for each event of the log."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from drover.readmodel.column import BigInt, Json
from drover.readmodel.row import Row
from drover.readmodel.table import AppendTable, Index

ENTITIES_MAX: Final = 4
"""How many of an event's entities can be searched for, because each needs its own index. The others are only shown."""


class EventRow(Row, frozen=True):
    """An event of the log.

    Every event adds a row, so each index costs time for all events. To keep indices small, they contain hashes of texts
    (8 bytes instead of 40). Almost all are ordered by time; the position orders rows of the same time.
    """

    seq: BigInt
    """Sequence of its commit in the stream of its context. With `line` it identifies the event."""
    line: int
    n: BigInt
    """Number of the event in its partition, without gaps."""
    at: datetime
    type: str
    by: str
    """The actor: `anon`, `service_role`, `device:<id>`, `user:<id>`, `clock`, `presence`, `writer:<instance>`."""
    cause: str
    """Id of the command that caused the event."""
    trace: str | None
    entities: list[str]
    """Ids of the entities that the event is about, the most specific first."""
    data: Json
    """The event as in the log. In events of reminders, the texts and keys of users are left out. Empty for identity."""


def _entity_index(number: int) -> Index:
    place = f"entities[{number}]"
    return Index(f"events_entity_{number}", f"hashtextextended({place}, 0), at", where=f"{place} IS NOT NULL")


EVENTS: Final = AppendTable(
    name="events",
    row=EventRow,
    key=("seq", "line"),
    by_position="seq",
    indices=(
        Index("events_at", "at"),
        Index("events_type", "hashtextextended(type, 0), at"),
        Index("events_by", "hashtextextended(by, 0), at"),
        Index("events_cause", "hashtextextended(cause, 0)"),
        # By entity, in order of time. A GIN index would cost half as much, but its matches have no order: to find the
        # newest events of a job with 100,000 events, all of them would have to be read.
        *map(_entity_index, range(1, ENTITIES_MAX + 1)),
    ),
)
