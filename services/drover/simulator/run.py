"""The current run of an agent: its progress, what is stored of it, and what is to be reported. The agent decides when.

Progress is *noted* (written to the store) at each step, and *said* (reported to the platform) as soon as the agent may
report.
"""

from __future__ import annotations

import math
from typing import Final

from drover.simulator.protocol import Offer, Report
from drover.simulator.store import Kept
from drover.simulator.work import Plan, Watching

STEP_PCT: Final = 10
STEP_S: Final = 15.0
"""Maximum seconds of a step. A step ends earlier if the progress has grown by `STEP_PCT` percentage points."""

STALLED_AFTER_S: Final = 120.0
AD_HOLDS_S: Final = 300.0
"""For how many seconds in total advertisements may pause a run."""

RUNNING_PCT_MAX: Final = 99
"""The highest progress that a run reports before its final report: only that has 100."""

CRASHES_MAX: Final = 3
CRASHED_TOO_OFTEN: Final = "YouTube app crashed 3 times consecutively"


class Run:
    """A run, from its start until the platform has its outcome, or until the platform withdraws it."""

    __slots__ = (
        "_noted_at",
        "_noted_pct",
        "_said_s",
        "_started_at",
        "_watching",
        "begun",
        "final",
        "offer",
        "unsaid",
    )

    def __init__(self, offer: Offer, plan: Plan, now: float) -> None:
        self.offer = offer
        self.begun = False
        """Whether the platform has acknowledged the start. Watching begins then."""
        self.final: Report | None = None
        self.unsaid = True
        """Whether progress was noted (stored) that was not reported yet."""
        self._watching = Watching(plan)
        self._started_at = now
        self._noted_pct = 0
        self._noted_at = now
        self._said_s = 0.0
        """The play time in seconds at the last report."""

    @classmethod
    def recalled(cls, kept: Kept, plan: Plan, now: float) -> Run:
        """Restore a run from the store. It stays paused until the platform has accepted a report about it."""
        run = cls(kept.offer, plan, now)
        run.begun, run.final = kept.begun, kept.final
        run._watching = Watching(plan, kept.played_s)
        run._started_at, run._noted_pct, run._said_s = kept.started_at, kept.progress_pct, kept.played_s
        return run

    def kept(self) -> Kept:
        """Return the current state of the run for the store."""
        played_s = self._watching.played_s(self._noted_at)
        return Kept(self.offer, self.begun, self._started_at, played_s, self._noted_pct, self.final)

    @property
    def progress_pct(self) -> int:
        return self._noted_pct

    def is_of(self, assignment_id: str, run: int) -> bool:
        return (self.offer.id, self.offer.run) == (assignment_id, run)

    def changes_at(self, pauses_at: float) -> float:
        """Return the time at which there will be progress to note, if work is paused at `pauses_at`."""
        over_at = self._over_at()
        if self.final is not None or over_at == math.inf:
            return math.inf  # an ended or paused run does not change
        return min(self._noted_at + STEP_S, self._watching.reaches_at(self._noted_pct + STEP_PCT), over_at, pauses_at)

    def note(self, now: float, pauses_at: float) -> None:
        """Note the progress up to now."""
        over_at = self._over_at()
        if pauses_at <= now and pauses_at < over_at:
            self._watching.pause(pauses_at)
        elif over_at <= now:
            self.final = self._final_report(over_at)
            self._noted_pct = self.final.progress_pct or self._noted_pct
            return
        self._noted_pct = min(self._watching.progress_pct(now), RUNNING_PCT_MAX)
        self._noted_at = now
        self.unsaid = True

    def go_on(self, now: float) -> None:
        """Continue the run, because the platform has accepted a report about it."""
        if not self.begun:
            self.begun, self._noted_at = True, now
        self._watching.resume(now)

    def heard(self, report: Report) -> None:
        """Handle that the platform has accepted this report."""
        self.unsaid = report.progress_pct != self._noted_pct

    def report(self, now: float) -> Report:
        """Make the report to send now."""
        offer, watching = self.offer, self._watching
        if self.final is not None:
            return self.final
        if not self.begun:
            return Report(offer.id, offer.run, "running", progress_pct=0, started_at=self._started_at)
        popup_closed = watching.popup_closed(self._said_s, now) or None
        self._said_s = watching.played_s(now)
        return Report(
            offer.id,
            offer.run,
            "running",
            progress_pct=self._noted_pct,
            ad_playing=watching.ad_playing(now),
            popup_closed=popup_closed,
        )

    def _over_at(self) -> float:
        return min(self._watching.over_at(), self._watching.stalls_at(STALLED_AFTER_S, AD_HOLDS_S))

    def _final_report(self, at: float) -> Report:
        offer, watching = self.offer, self._watching
        plan = watching.plan
        if at < watching.over_at():
            return Report(
                offer.id,
                offer.run,
                "failed",
                error_code="PLAYBACK_STALLED",
                error_message=f"Progress stands still at {watching.progress_pct(at)} %",
                screenshot_ref=f"simulated/{offer.id}/{offer.run}.png",
                activity_stack="SimulatedActivity > SimulatedPlayer",
            )
        if plan.failure is not None:
            too_often = plan.failure.code == "APP_CRASH" and offer.retry_count + 1 >= CRASHES_MAX
            message = CRASHED_TOO_OFTEN if too_often else plan.failure.message
            return Report(offer.id, offer.run, "failed", error_code=plan.failure.code, error_message=message)
        return Report(
            offer.id,
            offer.run,
            "completed",
            progress_pct=100,
            actual_duration_sec=max(1, round(watching.played_s(at))),
            did_like=plan.did_like,
            did_comment=plan.did_comment,
            did_playlist=plan.did_playlist,
            completed_at=at,
        )
