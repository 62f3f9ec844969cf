"""The time of a partition. Usually it is the wall clock. If a leader's clock was ahead earlier, it is the time of the
last event plus the time that has passed since."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from drover.domain.errors import DroverError
from drover.domain.event import UNSTAMPED
from drover.writer.clock import Clock

CLOCK_STEP_MAX: Final = timedelta(seconds=2)
"""How far clocks may differ. If the wall clock moves by more than this against the monotonic clock, somebody has set
it. It may also be this much behind the last event, because the clocks of two machines differ a little."""


class ClockStepped(DroverError):
    """The wall clock was set during a term. The next term first compares it with the NATS server's clock."""

    def __init__(self, step_s: float) -> None:
        self.step_s = step_s
        super().__init__(f"The wall clock was set by {step_s:+.1f} s")


class PartitionTime:
    """The time of one partition. Events never go back in time. So if a clock was a day ahead once, the partition's time
    stays a day ahead. It does not stand still: it goes on with the monotonic clock, which nobody can set."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at = UNSTAMPED
        self._at_elapsed_s = 0.0
        """What the monotonic clock showed when the partition's time was `_at`."""
        self._seen: tuple[datetime, float] | None = None
        """What wall clock and monotonic clock showed at the last call in this term."""
        self._ahead_at_start = timedelta()
        self._ahead = timedelta()

    @property
    def ahead_s(self) -> float:
        """How many seconds the partition's time is ahead of the wall clock. 0: it is the wall clock."""
        return self._ahead.total_seconds()

    def heard(self, at: datetime) -> None:
        """Note the time of an event that another process has just recorded. So a standby knows the partition's time as
        well as its leader does, even if the last event is old when the standby takes over.

        If the leader's time is behind ours, we go back to it. Otherwise the time would jump forward when the standby
        takes over, and time-outs would fire.
        """
        elapsed_s = self._clock.elapsed_s()
        line = self._line(elapsed_s)
        if at > line or line - at > CLOCK_STEP_MAX:
            self._at, self._at_elapsed_s = at, elapsed_s

    def start_term(self, last: datetime) -> datetime:
        """Return the time of the first event of a term. `last`: the time of the last event of the log."""
        wall, elapsed_s = self._clock.now(), self._clock.elapsed_s()
        self._seen = (wall, elapsed_s)
        if last > self._line(elapsed_s):
            self._at, self._at_elapsed_s = last, elapsed_s
        now = self._time_at(wall, elapsed_s, last)
        self._ahead_at_start = self._ahead
        return now

    def now(self, last: datetime) -> datetime:
        """Return the time for new events. It is never before `last`, the time of the last event. Raises ClockStepped if
        somebody has set the clock, because events must not get a wrong time."""
        assert self._seen is not None
        wall, elapsed_s = self._clock.now(), self._clock.elapsed_s()
        seen, seen_elapsed_s = self._seen
        self._seen = (wall, elapsed_s)
        _refuse_a_step(wall - seen - timedelta(seconds=elapsed_s - seen_elapsed_s))
        now = self._time_at(wall, elapsed_s, last)
        # The first event of the term records how far the time is ahead, so this must not change within the term.
        _refuse_a_step(self._ahead_at_start - self._ahead)
        return now

    def _time_at(self, wall: datetime, elapsed_s: float, last: datetime) -> datetime:
        line = self._line(elapsed_s)
        if line - wall > CLOCK_STEP_MAX:
            self._ahead = line - wall
            return line
        self._ahead = timedelta()
        self._at, self._at_elapsed_s = max(wall, last), elapsed_s
        return self._at

    def _line(self, elapsed_s: float) -> datetime:
        return self._at + timedelta(seconds=max(0.0, elapsed_s - self._at_elapsed_s))


def _refuse_a_step(step: timedelta) -> None:
    if abs(step) > CLOCK_STEP_MAX:
        raise ClockStepped(step.total_seconds())
