"""The simulated watching of a video: the plan of a run, and its progress at any moment. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Final, Literal, NamedTuple

from drover.agent.protocol import Offer
from drover.simulator.script import Failure, Show

AGE_VERIFIED: Final = "age_verified"

UNAVAILABLE: Final = Failure("VIDEO_UNAVAILABLE", "This video is not available", 1.0)
AGE_RESTRICTED: Final = Failure("VIDEO_AGE_RESTRICTED", "Sign in to confirm your age", 1.0)
REFUSED_AT: Final = 0.01
"""The share of the watching after which a run fails if its video cannot be watched: almost at the beginning."""

ROUNDING: Final = 1e-6
"""Tolerance for rounding errors of floats, in percentage points."""


class Hold(NamedTuple):
    """A pause of the progress. It begins when the share `at` of the watching is reached."""

    at: float
    lasts_s: float
    kind: Literal["ad", "popup", "stall"]
    noticed: bool = True


class Plan(NamedTuple):
    """How one run proceeds."""

    watch_s: float
    """Duration of the watching in seconds, without pauses."""
    holds: tuple[Hold, ...] = ()
    """The pauses of progress, in the order in which they occur."""
    ends_at: float = 1.0
    """The share of the watching at which the run ends."""
    failure: Failure | None = None
    did_like: bool = False
    did_comment: bool = False
    did_playlist: bool = False

    def reaches_s(self, share: float) -> float:
        """Return the seconds of playing, with pauses, until this share of the watching is reached."""
        return share * self.watch_s + sum(hold.lasts_s for hold in self.holds if hold.at < share)

    def begins_s(self, hold: Hold) -> float:
        return hold.at * self.watch_s + sum(earlier.lasts_s for earlier in self.holds if earlier.at < hold.at)

    def share_after(self, played_s: float) -> tuple[float, Hold | None]:
        """Return the share of the watching that is reached after this play time, and the hold that pauses it then, if
        any."""
        held_s = 0.0
        for hold in self.holds:
            begins_s = hold.at * self.watch_s + held_s
            if played_s < begins_s:
                break
            if played_s < begins_s + hold.lasts_s:
                return hold.at, hold
            held_s += hold.lasts_s
        return min((played_s - held_s) / self.watch_s, self.ends_at), None


Player = Callable[[Offer], Plan]
"""Makes the plan of a run. The same offer gives the same plan, so that a run can be resumed after a crash."""


def player(show: Show, serial_number: str, capabilities: tuple[str, ...], seed: int) -> Player:
    """Make the simulated app of one phone, which plans its runs."""

    def plan(offer: Offer) -> Plan:
        job = offer.job
        video = Random(f"{seed} {job.target_url}")
        scenes = [scene for scene in show.scenes if scene.video in job.target_url]
        length_s = next((scene.video_s for scene in scenes if scene.video_s is not None), show.video_s)
        video_s, unavailable, restricted = video.uniform(*length_s), video.random(), video.random()
        dice = Random(f"{serial_number} {job.target_url} {offer.run}")
        watch_s = video_s * dice.uniform(job.duration_min_pct, max(job.duration_min_pct, job.duration_max_pct)) / 100
        if dice.random() < show.slow:
            watch_s *= dice.uniform(*show.slow_factor)
        liked = Plan(
            watch_s,
            holds=_holds(show, dice),
            did_like=dice.random() * 100 < job.prob_like,
            did_comment=dice.random() * 100 < job.prob_comment,
            did_playlist=dice.random() * 100 < job.prob_playlist,
        )
        if scenes:
            failures = (scene.failure for scene in scenes if scene.fails(serial_number, offer.run))
            failure = next(failures, None)
            return liked if failure is None else liked._replace(ends_at=dice.uniform(*show.fails_at), failure=failure)
        if unavailable < show.unavailable:
            return liked._replace(ends_at=REFUSED_AT, failure=UNAVAILABLE)
        if restricted < show.age_restricted and AGE_VERIFIED not in capabilities:
            return liked._replace(ends_at=REFUSED_AT, failure=AGE_RESTRICTED)
        failure = _failure(show, dice)
        return liked if failure is None else liked._replace(ends_at=dice.uniform(*show.fails_at), failure=failure)

    return plan


def _holds(show: Show, dice: Random) -> tuple[Hold, ...]:
    met = [one for one in show.standstills if dice.random() < one.chance]
    holds = [Hold(dice.uniform(0.05, 0.95), dice.uniform(*one.lasts_s), one.kind, one.noticed) for one in met]
    return tuple(sorted(holds, key=lambda hold: hold.at))


def _failure(show: Show, dice: Random) -> Failure | None:
    drawn = dice.random()
    for failure in show.failures:
        drawn -= failure.chance
        if drawn < 0:
            return failure
    return None


class Watching:
    """A run of a plan: it advances with the clock, unless it is paused."""

    __slots__ = ("_began_at", "_played_s", "plan")

    def __init__(self, plan: Plan, played_s: float = 0.0) -> None:
        """`played_s`: the play time to start at. The run starts paused."""
        self.plan = plan
        self._played_s: float = played_s
        self._began_at: float | None = None

    def resume(self, now: float) -> None:
        if self._began_at is None:
            self._began_at = now - self._played_s

    def pause(self, now: float) -> None:
        self._played_s, self._began_at = self.played_s(now), None

    def played_s(self, now: float) -> float:
        return self._played_s if self._began_at is None else now - self._began_at

    def progress_pct(self, now: float) -> int:
        return int(self.plan.share_after(self.played_s(now))[0] * 100 + ROUNDING)

    def ad_playing(self, now: float) -> bool:
        hold = self.plan.share_after(self.played_s(now))[1]
        return hold is not None and hold.kind == "ad"

    def popup_closed(self, since_s: float, now: float) -> bool:
        """Whether a pop-up was closed since the play time `since_s`."""
        played_s = self.played_s(now)
        return any(
            since_s < self.plan.begins_s(hold) + hold.lasts_s <= played_s
            for hold in self.plan.holds
            if hold.kind == "popup"
        )

    def reaches_at(self, pct: float) -> float:
        """Return the time at which this progress will be reached if nothing changes; infinite if never."""
        return math.inf if pct > self.plan.ends_at * 100 else self._when(self.plan.reaches_s(pct / 100))

    def over_at(self) -> float:
        return self._when(self.plan.reaches_s(self.plan.ends_at))

    def stalls_at(self, stalled_after_s: float, ad_holds_s: float) -> float:
        """Return the time at which the run will count as stalled: after `ad_holds_s` of advertisements in total, or
        `stalled_after_s` of other standstill.

        Infinite if it never stalls, or if the agent does not notice.
        """
        ads_s = 0.0
        for hold in self.plan.holds:
            if hold.at >= self.plan.ends_at or not hold.noticed:
                continue
            left_s = ad_holds_s - ads_s if hold.kind == "ad" else stalled_after_s
            if hold.lasts_s > left_s:
                return self._when(self.plan.begins_s(hold) + left_s)
            ads_s += hold.lasts_s if hold.kind == "ad" else 0.0
        return math.inf

    def _when(self, played_s: float) -> float:
        return math.inf if self._began_at is None else self._began_at + played_s
