"""Measures how long each running attempt has made no progress, in memory only. After a gap in the telemetry of a
gateway, the timers of its devices restart.

It does not know whether the device still sends signs of life, nor decide what a stall means.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

import msgspec

from drover.bus.telemetry import Work
from drover.domain.fleet.state import Assignment


class Attempt(msgspec.Struct):
    """The attempt that a device runs, with its timers."""

    device_id: str
    assignment_id: str
    run: int
    progress_pct: int
    ad_playing: bool
    counted_to_s: float
    """The time up to which `stood_s` and `ad_s` are counted."""
    stood_s: float = 0.0
    """For how many seconds the attempt has made no progress, not counting advertisements."""
    ad_s: float = 0.0
    """For how many seconds in total advertisements have paused the attempt."""

    def is_of(self, assignment: Assignment) -> bool:
        return (self.assignment_id, self.run) == (assignment.assignment_id, assignment.run)


class Stalls:
    """The running attempts, one for each device that runs one.

    A heap holds each attempt once, with the earliest moment at which it could be stalled. Reports of progress only move
    that moment later, so they need not update the heap, and stalled attempts are found without checking the others. No
    clock and no I/O: `now_s` is the time of any monotonic clock.
    """

    def __init__(self, stalled_after_s: float, ad_holds_s: float) -> None:
        self._stalled_after_s = stalled_after_s
        self._ad_holds_s = ad_holds_s
        self._attempts: dict[str, Attempt] = {}
        self._looks: list[tuple[float, str]] = []
        self._taken: set[str] = set()
        """Devices whose attempts `take_stalled` has returned, until they are put back or forgotten. They are not in the
        heap."""

    def __len__(self) -> int:
        return len(self._attempts)

    def restart(self, running: Iterable[Assignment], now_s: float) -> None:
        """Restart the timers of these attempts, and forget all others, after a gap in the telemetry.

        The total time of advertisements is kept.
        """
        known, self._attempts = self._attempts, {}
        self._taken.clear()
        for assignment in running:
            attempt = known.get(assignment.device_id)
            if attempt is None or not attempt.is_of(assignment):
                attempt = _begun(assignment, now_s)
            self._count(attempt, now_s)
            attempt.stood_s = 0.0
            self._attempts[attempt.device_id] = attempt
        # All entries have the same moment, so the sorted list is a heap already.
        self._looks = [(now_s + self._stalled_after_s, device_id) for device_id in sorted(self._attempts)]

    def restart_of(self, devices: Iterable[str], now_s: float) -> None:
        """Restart the timers of the attempts of these devices. The total time of advertisements is kept."""
        for device_id in devices:
            if (attempt := self._attempts.get(device_id)) is None:
                continue
            self._count(attempt, now_s)
            attempt.stood_s = 0.0
            self.put_back(device_id, now_s)

    def hear(self, assignment: Assignment, work: Work | None, now_s: float) -> None:
        """Note a sign of life of the device that runs this assignment, with or without a report of progress."""
        attempt = self._attempts.get(assignment.device_id)
        if attempt is None or not attempt.is_of(assignment):
            is_new = attempt is None
            attempt = self._attempts[assignment.device_id] = _begun(assignment, now_s)
            if is_new:
                self._look_later(attempt, now_s)
        if work is None or (work.assignment_id, work.run) != (attempt.assignment_id, attempt.run):
            return
        self._count(attempt, now_s)
        if work.popup_closed or work.progress_pct != attempt.progress_pct:
            attempt.stood_s = 0.0
        attempt.progress_pct, attempt.ad_playing = work.progress_pct, work.ad_playing

    def take_stalled(self, now_s: float) -> list[Attempt]:
        """Return attempts without progress for too long. Each is returned once, until it is put back."""
        stalled: list[Attempt] = []
        others: list[Attempt] = []
        while self._looks and self._looks[0][0] <= now_s:
            attempt = self._attempts[heappop(self._looks)[1]]
            self._count(attempt, now_s)
            (stalled if attempt.stood_s >= self._stalled_after_s else others).append(attempt)
        for attempt in others:
            self._look_later(attempt, now_s)
        self._taken.update(attempt.device_id for attempt in stalled)
        return stalled

    def put_back(self, device_id: str, now_s: float, *, start_again: bool = False) -> None:
        """Put an attempt back that `take_stalled` returned. Unless its timer is restarted, it is returned again if it
        made no progress."""
        if device_id not in self._taken:
            return
        self._taken.remove(device_id)
        attempt = self._attempts[device_id]
        self._count(attempt, now_s)
        if start_again:
            attempt.stood_s = 0.0
        self._look_later(attempt, now_s)

    def forget(self, device_id: str) -> None:
        """Forget an attempt that `take_stalled` returned and that no longer runs."""
        if device_id in self._taken:
            self._taken.remove(device_id)
            del self._attempts[device_id]

    def _count(self, attempt: Attempt, now_s: float) -> None:
        passed_s = now_s - attempt.counted_to_s
        if attempt.ad_playing:
            held_s = min(passed_s, self._ad_holds_s - attempt.ad_s)
            attempt.ad_s += held_s
            passed_s -= held_s
        attempt.stood_s += passed_s
        attempt.counted_to_s = now_s

    def _look_later(self, attempt: Attempt, now_s: float) -> None:
        # Assume that no advertisement plays from now on: it may end at any moment.
        heappush(self._looks, (now_s + max(0.0, self._stalled_after_s - attempt.stood_s), attempt.device_id))


def _begun(assignment: Assignment, now_s: float) -> Attempt:
    return Attempt(
        assignment.device_id,
        assignment.assignment_id,
        assignment.run,
        assignment.progress_pct,
        assignment.ad_playing,
        now_s,
    )
