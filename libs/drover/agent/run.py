"""The current run of a phone, whatever its work is: its progress, what is stored of it, and what is to be reported. The
session decides when.

Progress is *noted* (written to the store) at each step, and *said* (reported to the platform) as soon as the session
may report.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from drover.agent.protocol import Offer, Report
from drover.agent.store import Kept

STEP_PCT: Final = 10
STEP_S: Final = 15.0
"""Maximum seconds of a step. A step ends earlier if the progress has grown by `STEP_PCT` percentage points."""

RUNNING_PCT_MAX: Final = 99
"""The highest progress that a run reports before its final report: only that has 100."""


class Run(ABC):
    """A run, from its start until the platform has its outcome, or until the platform withdraws it."""

    __slots__ = ("begun", "final", "noted_at", "noted_pct", "offer", "started_at", "unsaid")

    def __init__(self, offer: Offer, now: float, kept: Kept | None = None) -> None:
        """`kept`: what was stored of the run, if an earlier agent began it."""
        self.offer = offer
        self.begun = False if kept is None else kept.begun
        """Whether the platform has acknowledged the start. The work begins then."""
        self.final: Report | None = None if kept is None else kept.final
        self.unsaid = True
        """Whether progress was noted (stored) that was not reported yet."""
        self.started_at = now if kept is None else kept.started_at
        self.noted_pct = 0 if kept is None else kept.progress_pct
        self.noted_at = now

    def is_of(self, assignment_id: str, run: int) -> bool:
        return (self.offer.id, self.offer.run) == (assignment_id, run)

    def kept(self) -> Kept:
        """Return the current state of the run for the store."""
        return Kept(self.offer, self.begun, self.started_at, self._worked_s(), self.noted_pct, self.final)

    def go_on(self, now: float) -> None:
        """Begin or continue the work, because the platform has accepted a report about it."""
        if not self.begun:
            self.begun, self.noted_at = True, now
        self._resume(now)

    def heard(self, report: Report) -> None:
        """Handle that the platform has accepted this report."""
        self.unsaid = report.progress_pct != self.noted_pct

    def report(self, now: float) -> Report:
        """Make the report to send now."""
        if self.final is not None:
            return self.final
        if not self.begun:
            return Report(self.offer.id, self.offer.run, "running", progress_pct=0, started_at=self.started_at)
        return self._progress_report(now)

    def stop(self) -> None:
        """Called when the run is over for the platform: work that still goes on must end. Its outcome no longer
        counts."""
        return

    @abstractmethod
    def changes_at(self, pauses_at: float) -> float:
        """Return the time at which there will be progress to note, if work is paused at `pauses_at`."""

    @abstractmethod
    def note(self, now: float, pauses_at: float) -> None:
        """Note the progress up to now, or the outcome."""

    @abstractmethod
    def _resume(self, now: float) -> None: ...

    @abstractmethod
    def _worked_s(self) -> float:
        """Return for how many seconds the work had gone on when its progress was noted, without pauses."""

    @abstractmethod
    def _progress_report(self, now: float) -> Report: ...
