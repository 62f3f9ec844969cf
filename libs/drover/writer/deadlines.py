"""Decides when a writer's next `Tick` is due, and what to do if a tick changes nothing although a deadline has
passed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import structlog

PARKED_FOR: Final = timedelta(seconds=60)
"""How long no tick is made for a deadline after a tick that changed nothing. Each time this happens, an error is logged
that raises an alert."""
STUCK_TICKS_MAX: Final = 5_000
"""How many ticks in a row at the same deadline count as an endless loop. Then no tick is made for this deadline for
PARKED_FOR."""

log = structlog.get_logger("drover.writer")


class Deadlines:
    """Decides whether to tick now. After a tick that changes nothing, no tick is made for the same deadline for
    PARKED_FOR, so that the writer does not loop for ever."""

    def __init__(self, context: str) -> None:
        self._context = context
        self._parked: tuple[datetime, datetime] | None = None
        """A deadline at which a tick changed nothing, and when to try it again. Other deadlines are not delayed."""
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
        """Note the result of a tick. `deadline`: the next deadline of the state after the tick."""
        if deadline is None or deadline > now:
            self._parked = self._ticks_at = None
            return
        at, count = self._ticks_at or (deadline, 0)
        self._ticks_at = (deadline, count + 1 if at == deadline else 1)
        if made_headway and self._ticks_at[1] < STUCK_TICKS_MAX:
            return  # more is due than fits into one decision, so tick again at once
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
