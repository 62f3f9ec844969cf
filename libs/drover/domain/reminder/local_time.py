"""Converts between UTC and a user's local time. Time zone rules may change, so events record the results.

A local time in a DST gap moves forward by the length of the gap; of an ambiguous local time the first moment is taken.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

DAY: Final = timedelta(days=1)
MINUTE: Final = timedelta(minutes=1)


@cache
def _names() -> frozenset[str]:
    return frozenset(available_timezones())


def is_timezone(name: str) -> bool:
    return name in _names()


@cache
def _zone(name: str) -> ZoneInfo:
    # zoneinfo caches only eight zones and reads the others again. There are some 600, so cache all.
    return ZoneInfo(name)


def wall_of(moment: datetime, timezone: str) -> datetime:
    """Convert a moment to the local time in this zone, without an offset."""
    return moment.astimezone(_zone(timezone)).replace(tzinfo=None, fold=0)


def moment_of(wall: datetime, timezone: str) -> datetime:
    """Convert a local time to the first moment at which clocks in this zone show it."""
    # fold=0: the first of two ambiguous times; in a gap the offset before it, which shifts by the gap's length.
    return wall.replace(tzinfo=_zone(timezone), fold=0).astimezone(UTC)


def resumed(wanted: datetime, pause: timedelta, timezone: str, now: datetime) -> datetime:
    """Compute the local time of the next sending: `pause` after `wanted`, the local time wanted for the last one.

    Pauses of a day or more are added in local time, so that the time of day stays. If the last sending was days late,
    the pause starts on the day of the actual sending.
    """
    here = wall_of(now, timezone)
    if pause < DAY:
        following = wall_of(moment_of(wanted, timezone) + pause, timezone)
        return following if moment_of(following, timezone) > now else wall_of(now + pause, timezone)
    late_days = max(0, round((here - wanted) / DAY))
    return wanted + late_days * DAY + pause
