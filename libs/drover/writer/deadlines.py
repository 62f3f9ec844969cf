"""When the next `Tick` is due, and what to do about a deadline that will not go away."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import structlog

PARKED_FOR: Final = timedelta(seconds=60)
"""A deadline on which `Tick` makes no headway is left alone for this long, then tried again, with an alert each."""
STUCK_TICKS_MAX: Final = 5_000
"""So many ticks in a row at one moment that never reach the next deadline are taken for a loop."""

log = structlog.get_logger("drover.writer")


class Deadlines:
    """Decides whether to tick now. It never lets the writer spin: after a tick time must move, or it waits."""

    def __init__(self, context: str) -> None:
        self._context = context
        self._parked: tuple[datetime, datetime] | None = None
        """The deadline that makes no headway, and when it is tried again. Others are not held up by it."""
        self._ticks_at: tuple[datetime, int] | None = None
        self.parked_total = 0

    def wake_at(self, deadline: datetime | None) -> datetime | None:
        if self._parked is not None and deadline == self._parked[0]:
            return self._parked[1]
        return deadline

    def is_due(self, deadline: datetime | None, now: datetime) -> bool:
        due = self.wake_at(deadline)
        return due is not None and due <= now

    def after_tick(self, deadline: datetime | None, now: datetime, *, made_headway: bool) -> None:
        """Call when a tick has been decided; `deadline` is what the state says now."""
        if deadline is None or deadline > now:
            self._parked = self._ticks_at = None
            return
        at, count = self._ticks_at or (deadline, 0)
        self._ticks_at = (deadline, count + 1 if at == deadline else 1)
        if made_headway and self._ticks_at[1] < STUCK_TICKS_MAX:
            return  # more is due than fits one decision: the next tick goes on at once
        self._parked = (deadline, now + PARKED_FOR)
        self._ticks_at = None
        self.parked_total += 1
        log.error(
            "deadline_parked",
            context=self._context,
            deadline=deadline.isoformat(),
            until=self._parked[1].isoformat(),
            alert=True,
        )
