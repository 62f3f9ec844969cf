"""What every event has in common: the envelope. The events themselves live with their context."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

UNSTAMPED: Final = datetime(1, 1, 1, tzinfo=UTC)


class Event(msgspec.Struct, kw_only=True, tag_field="type", tag=True):
    """A fact. A decider makes it bare; the writer stamps the envelope when it is recorded, once.

    Fields without a default come from the event's own class. Nothing is left out of the encoding because it equals a
    default: a default that changes later must not change history.
    """

    n: int = 0
    """Gap-free ordinal in its partition, from 1."""
    at: datetime = UNSTAMPED
    """When it was decided: UTC, microseconds, never backwards in a partition."""
    by: str = ""
    """The actor: `anon`, `service_role`, `user:<id>`, `clock`, `presence`, `writer:<instance>`."""
    cause: str = ""
    """Id of the command that it follows from."""
    trace: str | UnsetType = UNSET
    """W3C traceparent of the request behind the command, if it had one."""


class TermStarted(Event):
    """A writer took the partition over. The first event of its term, and the proof that its predecessor is fenced."""

    epoch: int
    holder: str
