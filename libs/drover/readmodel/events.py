"""The table `events` that every context has: the log as rows, one for each event."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from drover.readmodel.column import BigInt, Json
from drover.readmodel.row import Row
from drover.readmodel.table import AppendTable, Index

ENTITIES_MAX: Final = 4
"""So many of an event's entities can be searched by: each has an index of its own."""


class EventRow(Row, frozen=True):
    """Every event there is comes by here, so each index is paid for by all of them: keys are hashed (8 bytes instead of
    40), and the time stands for the place, which settles what is equal in it."""

    seq: BigInt
    """Of its commit in the stream of its context. With `line` it names the event."""
    line: int
    n: BigInt
    """Gap-free within its partition."""
    at: datetime
    type: str
    by: str
    """The actor: `anon`, `service_role`, `device:<id>`, `user:<id>`, `clock`, `presence`, `writer:<instance>`."""
    cause: str
    """Id of the command that it follows from."""
    trace: str | None
    entities: list[str]
    """Ids of what it is about, the nearest first."""
    data: Json
    """The whole event as it stands in the log; of identity, nothing."""


def _entity_index(number: int) -> Index:
    place = f"entities[{number}]"
    return Index(f"events_entity_{number}", f"hashtextextended({place}, 0), at", where=f"{place} IS NOT NULL")


EVENTS: Final = AppendTable(
    name="events",
    row=EventRow,
    key=("seq", "line"),
    indices=(
        Index("events_at", "at"),
        Index("events_type", "hashtextextended(type, 0), at"),
        Index("events_by", "hashtextextended(by, 0), at"),
        Index("events_cause", "hashtextextended(cause, 0)"),
        # By what it is about, in the order of time. Not GIN: it would cost half as much and give what it finds in no
        # order, so that the newest of a job with 100,000 events could not be had without reading all of them.
        *map(_entity_index, range(1, ENTITIES_MAX + 1)),
    ),
)
