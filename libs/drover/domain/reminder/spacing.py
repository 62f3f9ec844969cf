"""Two alarms of one user never fall on the same minute: a taken one is moved by a shift that looks random and is not.

A decider has no dice. The order in which shifts are tried follows from the page and the sending.
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
    """When an alarm is due, and how that came about."""

    moment: datetime
    shift_min: int
    """On the user's clock, from what was wanted."""
    tries: int
    crowded: bool
    """All tries were in vain: the minute is shared."""


def find_spot(user: User, alarm: Alarm, wanted: datetime, *, own_minute: int | None) -> Spot:
    """The first free minute from what the user's clock shall show. `own_minute`: what the alarm itself holds."""
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
    # Taken from the clock again: where an hour is missing it shows more than was added.
    shown = wall_of(moment, user.timezone) - wanted
    return Spot(moment, shown // timedelta(minutes=1), tries, False)


def _taken(user: User, spot: Spot, own_minute: int | None) -> bool:
    minute = minute_of(seconds_of(spot.moment))
    return user.alarms_in(minute) > (minute == own_minute)


def _shifts(page_id: str, sent_count: int) -> list[int]:
    digest = blake2b(f"{page_id}:{sent_count}".encode(), digest_size=64).digest()
    return sorted(_SHIFTS, key=digest.__getitem__)[:TRIES_MAX]
