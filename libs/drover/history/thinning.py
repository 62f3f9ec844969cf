"""Decides which checkpoints of the past to keep: all of the last hour, one an hour for a day, then one a day. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

ALL_FOR: Final = timedelta(hours=1)
HOURLY_FOR: Final = timedelta(days=1)
DAILY_FOR: Final = timedelta(days=30)
"""How long daily checkpoints stay in Postgres once the archive has them. Without an archive they stay for ever."""


class Kept(msgspec.Struct, frozen=True):
    """A checkpoint that is in Postgres."""

    seq: int
    at: datetime
    is_archived: bool = False


def surplus(checkpoints: Iterable[Kept]) -> list[Kept]:
    """Return the checkpoints to remove. Ages count from the newest checkpoint, not from the clock of a machine."""
    ordered = sorted(checkpoints, key=lambda one: one.seq)
    if not ordered:
        return []
    newest = ordered[-1]
    seen: set[tuple[int, ...]] = set()
    gone = []
    for one in ordered[:-1]:
        age = newest.at - one.at
        is_repeated = (key := _stretch(one, age)) in seen
        seen.add(key)
        if is_repeated or (one.is_archived and age >= DAILY_FOR):
            gone.append(one)
    return gone


def _stretch(one: Kept, age: timedelta) -> tuple[int, ...]:
    """Return a key for the period of which only the first checkpoint is kept: an hour, or a day if the checkpoint is
    older. In the last hour each checkpoint has a key of its own, so all are kept. The first checkpoint of a day is also
    the first one of its hour, so it is still there when only days are kept."""
    at = one.at.astimezone(UTC)
    if age < ALL_FOR:
        return (one.seq,)
    day = (at.year, at.month, at.day)
    return (*day, at.hour) if age < HOURLY_FOR else day


def daily(checkpoints: Iterable[Kept]) -> list[Kept]:
    """Return the first checkpoint of each day, without those that the archive has."""
    first: dict[object, Kept] = {}
    for one in sorted(checkpoints, key=lambda one: one.seq):
        first.setdefault(one.at.astimezone(UTC).date(), one)
    return [one for one in first.values() if not one.is_archived]
