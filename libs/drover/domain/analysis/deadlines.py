"""Deadlines of analyses: continue a running cleanup, archive ended tests, resolve alerts that expire."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from drover.domain.alerts import expire_alert
from drover.domain.analysis.cleanup import follow_up
from drover.domain.analysis.events import TestArchived
from drover.domain.analysis.state import Analyses
from drover.domain.decider import Decision
from drover.domain.event import Event
from drover.domain.timers import AT_ONCE


def next_deadline(analyses: Analyses) -> datetime | None:
    return AT_ONCE if analyses.run is not None else analyses.timers.first_at()


def tick(analyses: Analyses, command: object, now: datetime) -> Decision:
    return Decision(then=follow_up(_fire_first))


def _fire_first(analyses: Analyses, now: datetime, events_max: int) -> list[Event]:
    """Fire one deadline that has passed. While a cleanup is running, fire none: the cleanup is finished first."""
    overdue = analyses.timers.overdue(now)
    if overdue is None or analyses.run is not None:
        return []
    kind, subject = overdue
    return _FIRE[kind](analyses, subject)


def _test(analyses: Analyses, test_id: str) -> list[Event]:
    return [TestArchived(test_id)]


def _alert(analyses: Analyses, key: str) -> list[Event]:
    return expire_alert(analyses, key)


_FIRE: Final[dict[str, Callable[[Analyses, str], list[Event]]]] = {"t": _test, "l": _alert}
