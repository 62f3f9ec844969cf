"""Keys of the rows of analyses, from an event's fields or its position in the log."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from drover.postgres.types import uuid_of
from drover.projection.projection import Position

LINES_PER_COMMIT_MAX: Final = 1 << 16
"""An id is the commit's sequence times this, plus the line. A commit of 256 KiB has far fewer lines."""


def user_of(event: Any) -> str:
    user_id: str = event.user_id
    return user_id


def test_of(event: Any) -> UUID:
    return uuid_of(event.test_id)


def run_of(event: Any) -> UUID | None:
    """The event's cleanup, if any."""
    return None if event.run_id is None else uuid_of(event.run_id)


def place(position: Position) -> int:
    seq, line = position
    return seq * LINES_PER_COMMIT_MAX + line
