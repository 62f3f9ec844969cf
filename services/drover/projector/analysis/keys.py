"""Derives the keys of rows of analyses from an event's fields."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drover.postgres.types import uuid_of


def user_of(event: Any) -> str:
    user_id: str = event.user_id
    return user_id


def test_of(event: Any) -> UUID:
    return uuid_of(event.test_id)


def run_of(event: Any) -> UUID | None:
    """Return the id of the cleanup that caused the event. None: no cleanup did."""
    return None if event.run_id is None else uuid_of(event.run_id)
