"""Between moments (UTC) and what a user's clock shows. Rules of time zones are data; whatever follows is recorded.

An hour that does not exist is moved forward by what the clocks were put forward; of a doubled one the first is taken.
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
    # zoneinfo itself keeps eight and reads the others anew. There are some 600, so all of them are kept.
    return ZoneInfo(name)


def wall_of(moment: datetime, timezone: str) -> datetime:
    """What the clock shows there, without an offset."""
    return moment.astimezone(_zone(timezone)).replace(tzinfo=None, fold=0)


def moment_of(wall: datetime, timezone: str) -> datetime:
    """When the clock shows it there, for the first time."""
    # fold=0: of a doubled hour the first; in a gap the offset before it, which lands as much later as is missing.
    return wall.replace(tzinfo=_zone(timezone), fold=0).astimezone(UTC)


def resumed(wanted: datetime, pause: timedelta, timezone: str, now: datetime) -> datetime:
    """What the clock shows at the next sending, `pause` after the one that was wanted at `wanted` (also a clock's).

    Pauses of a day or more are counted on the clock, so that the hour stays. A sending that was late by days counts
    from the day on which it went out.
    """
    here = wall_of(now, timezone)
    if pause < DAY:
        following = wall_of(moment_of(wanted, timezone) + pause, timezone)
        return following if moment_of(following, timezone) > now else wall_of(now + pause, timezone)
    late_days = max(0, round((here - wanted) / DAY))
    return wanted + late_days * DAY + pause
