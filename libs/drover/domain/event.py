"""The envelope that all events share. The events themselves live in their contexts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

UNSTAMPED: Final = datetime(1, 1, 1, tzinfo=UTC)


class Event(msgspec.Struct, kw_only=True, tag_field="type", tag=True):
    """A fact. A decider makes it without an envelope; the writer stamps the envelope once, when it records it.

    Fields without a default come from the event's own class. The encoding never omits a value that equals its
    default: a default that changes later must not change history.
    """

    n: int = 0
    """Number in its partition, from 1, without gaps."""
    at: datetime = UNSTAMPED
    """When it was decided: UTC, in microseconds, never going back within a partition."""
    by: str = ""
    """The actor: `anon`, `service_role`, `user:<id>`, `clock`, `presence`, `writer:<instance>`."""
    cause: str = ""
    """Id of the command that caused it."""
    trace: str | UnsetType = UNSET
    """W3C traceparent of the request that sent the command, if it had one."""


class TermStarted(Event):
    """A writer took over the partition. The first event of its term; once stored, its predecessor can write no more."""

    epoch: int
    holder: str
