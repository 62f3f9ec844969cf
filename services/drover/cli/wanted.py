"""A filter of events: by type, entity, actor, text and time."""

from __future__ import annotations

import re
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from drover.cli.record import Record


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions of a filter. An event must meet all that are given."""

    types: tuple[str, ...] = ()
    """Event types, of which the event must have one; `*` stands for any text."""
    entity: str | None = None
    by: str | None = None
    from_n: int = 0
    since: datetime | None = None
    until: datetime | None = None
    """The latest time of events, inclusive."""
    pattern: re.Pattern[str] | None = None
    """A regular expression that must match somewhere in the stored line."""

    @property
    def everything(self) -> bool:
        return self == Wanted()

    def __call__(self, record: Record) -> bool:
        envelope = record.envelope
        return (
            envelope.n >= self.from_n
            and (self.since is None or envelope.at >= self.since)
            and (self.until is None or envelope.at <= self.until)
            and (not self.types or any(fnmatchcase(envelope.type, pattern) for pattern in self.types))
            and (self.by is None or envelope.by == self.by)
            and (self.entity is None or _mentions(record.own, self.entity))
            and (self.pattern is None or self.pattern.search(record.raw.decode()) is not None)
        )


def _mentions(value: Any, entity: str) -> bool:
    """Whether a field at any depth is this id."""
    if isinstance(value, dict):
        return any(_mentions(inner, entity) for inner in value.values())
    if isinstance(value, list):
        return any(_mentions(inner, entity) for inner in value)
    return isinstance(value, str) and value == entity
