"""The envelope that all events share. The events themselves live in their contexts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

UNSTAMPED: Final = datetime(1, 1, 1, tzinfo=UTC)


class Event(msgspec.Struct, kw_only=True, tag_field="type", tag=True):
    """A fact that was recorded. A decider makes it without an envelope; the writer fills in the envelope when it
    records the event.

    The envelope is the fields below; all other fields belong to the event's own class. The encoding never omits a value
    that equals its default, because a default that changes later must not change recorded events.
    """

    n: int = 0
    """Number in its partition, from 1, without gaps."""
    at: datetime = UNSTAMPED
    """When it was decided: UTC, in microseconds, never going back within a partition."""
    by: str = ""
    """The actor: `anon`, `service_role`, `device:<id>`, `user:<id>`, `clock`, `presence`, `writer:<instance>`."""
    cause: str = ""
    """Id of the command that caused the event."""
    trace: str | UnsetType = UNSET
    """W3C traceparent of the request that sent the command, if it had one."""


class TermStarted(Event):
    """A writer became the leader of the partition. This is the first event of its term; once it is stored, the log
    refuses commits of the leader before."""

    epoch: int
    holder: str
    ahead_s: float = 0.0
    """How many seconds the partition's time is ahead of the wall clock, because a clock was wrong before. This holds
    for the whole term: if somebody sets the wall clock, the term ends."""
