"""Spacing: keeps the alarms of one user in different minutes, except alarms that were requested for now.

An alarm for a taken minute is shifted pseudo-randomly. If no free minute is found after `TRIES_MAX` tries, two alarms
share one. A decider must not use random numbers: the order of the tried shifts is derived from the page and the
sending.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

import msgspec

from drover.domain.reminder.local_time import MINUTE, moment_of, wall_of
from drover.domain.reminder.policy import SHIFT_MAX_MIN, TRIES_MAX
from drover.domain.reminder.state import Alarm, User, minute_of, seconds_of

_SHIFTS: Final = range(1, SHIFT_MAX_MIN + 1)


class Spot(msgspec.Struct, frozen=True):
    """When an alarm is due, and how that time was found."""

    moment: datetime
    shift_min: int
    """How many minutes the time is after the wanted local time."""
    tries: int
    crowded: bool
    """Whether no free minute was found, so that the minute is shared with another alarm."""


def find_spot(user: User, alarm: Alarm, wanted: datetime, *, own_minute: int | None) -> Spot:
    """Find a free minute: that of the wanted local time or, if it is taken, one after it. `own_minute`: the minute that
    the alarm itself occupies now."""
    first = _spot(user, wanted, 0, 0)
    if not _taken(user, first, own_minute):
        return first
    for tries, shift_min in enumerate(_shifts(alarm.page_id, alarm.sent_count), start=1):
        spot = _spot(user, wanted, shift_min, tries)
        if not _taken(user, spot, own_minute):
            return spot
    return msgspec.structs.replace(first, tries=TRIES_MAX, crowded=True)


def _spot(user: User, wanted: datetime, shift_min: int, tries: int) -> Spot:
    moment = moment_of(wanted + shift_min * MINUTE, user.timezone)
    # Computed from local time again: across a DST gap the shift is longer than the minutes added.
    shown = wall_of(moment, user.timezone) - wanted
    return Spot(moment, shown // timedelta(minutes=1), tries, False)


def _taken(user: User, spot: Spot, own_minute: int | None) -> bool:
    minute = minute_of(seconds_of(spot.moment))
    return user.alarms_in(minute) > (minute == own_minute)


def _shifts(page_id: str, sent_count: int) -> list[int]:
    digest = blake2b(f"{page_id}:{sent_count}".encode(), digest_size=64).digest()
    return sorted(_SHIFTS, key=digest.__getitem__)[:TRIES_MAX]
