"""Derives the keys of the fleet's rows from an event's fields."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drover.postgres.types import uuid_of


def device_of(event: Any) -> UUID:
    return uuid_of(event.device_id)


def job_of(event: Any) -> UUID:
    return uuid_of(event.job_id)


def assignment_of(event: Any) -> UUID:
    return uuid_of(event.assignment_id)
