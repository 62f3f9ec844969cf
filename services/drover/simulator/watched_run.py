"""A run that watches a simulated video: what a simulated phone does as its work."""

from __future__ import annotations

import math
from typing import Final

from drover.agent.protocol import Offer, Report
from drover.agent.run import RUNNING_PCT_MAX, STEP_PCT, STEP_S, Run
from drover.agent.store import Kept
from drover.simulator.work import Plan, Player, Watching

STALLED_AFTER_S: Final = 120.0
AD_HOLDS_S: Final = 300.0
"""For how many seconds in total advertisements may pause a run."""

CRASHES_MAX: Final = 3
ACTIVITIES: Final = "SimulatedActivity\nSimulatedPlayer"
"""The activity stack of each failure, one activity a line."""
CRASHED_TOO_OFTEN: Final = "YouTube app crashed 3 times consecutively"


class Watcher:
    """Makes the runs of one simulated phone (`drover.agent.session.Runs`)."""

    __slots__ = ("_player",)

    def __init__(self, player: Player) -> None:
        self._player = player

    def begin(self, offer: Offer, now: float) -> WatchedRun:
        return WatchedRun(offer, self._player(offer), now)

    def recall(self, kept: Kept, now: float) -> WatchedRun:
        return WatchedRun(kept.offer, self._player(kept.offer), now, kept)


class WatchedRun(Run):
    """A run of a plan."""

    __slots__ = ("_said_s", "_watching")

    def __init__(self, offer: Offer, plan: Plan, now: float, kept: Kept | None = None) -> None:
        super().__init__(offer, now, kept)
        watched_s = 0.0 if kept is None else kept.worked_s
        self._watching = Watching(plan, watched_s)
        self._said_s = watched_s
        """The play time in seconds at the last report."""

    def changes_at(self, pauses_at: float) -> float:
        over_at = self._over_at()
        if self.final is not None or over_at == math.inf:
            return math.inf  # an ended or paused run does not change
        return min(self.noted_at + STEP_S, self._watching.reaches_at(self.noted_pct + STEP_PCT), over_at, pauses_at)

    def note(self, now: float, pauses_at: float) -> None:
        over_at = self._over_at()
        if pauses_at <= now and pauses_at < over_at:
            self._watching.pause(pauses_at)
        elif over_at <= now:
            self.final = self._final_report(over_at)
            self.noted_pct = self.final.progress_pct or self.noted_pct
            return
        self.noted_pct = min(self._watching.progress_pct(now), RUNNING_PCT_MAX)
        self.noted_at = now
        self.unsaid = True

    def _resume(self, now: float) -> None:
        self._watching.resume(now)

    def _worked_s(self) -> float:
        return self._watching.played_s(self.noted_at)

    def _progress_report(self, now: float) -> Report:
        offer, watching = self.offer, self._watching
        popup_closed = watching.popup_closed(self._said_s, now) or None
        self._said_s = watching.played_s(now)
        return Report(
            offer.id,
            offer.run,
            "running",
            progress_pct=self.noted_pct,
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
                activity_stack=ACTIVITIES,
            )
        if plan.failure is not None:
            too_often = plan.failure.code == "APP_CRASH" and offer.retry_count + 1 >= CRASHES_MAX
            message = CRASHED_TOO_OFTEN if too_often else plan.failure.message
            return Report(
                offer.id,
                offer.run,
                "failed",
                error_code=plan.failure.code,
                error_message=message,
                activity_stack=ACTIVITIES,
            )
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
