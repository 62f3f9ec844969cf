"""Backoff: how long to wait before the next try. Pure: the caller provides the clock and the random numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import msgspec

POWER_MAX: Final = 64
"""The largest exponent that is used. By then every pause has reached its maximum; a larger exponent could overflow."""


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """Pauses between tries, which grow from the first to the longest."""

    first_s: float
    max_s: float
    factor: float = 2.0
    """By what factor each pause is longer than the one before."""
    jitter: float = 0.0
    """Share by which a pause may vary: 0.2 is up to 20 % either way."""

    def pause_s(self, failures: int, roll: float = 0.5) -> float:
        """Return the pause after this many failures in a row. `roll`: a random number from 0 to 1, for the jitter."""
        power = min(max(failures, 1) - 1, POWER_MAX)
        return min(self.first_s * self.factor**power, self.max_s) * (1 + self.jitter * (2 * roll - 1))

    def pause(self, failures: int) -> timedelta:
        return timedelta(seconds=self.pause_s(failures))


def no_jitter() -> float:
    return 0.5


class Retries:
    """Counts failures in a row, and computes the pause after each."""

    def __init__(self, backoff: Backoff, roll: Callable[[], float] = no_jitter) -> None:
        self._backoff = backoff
        self._roll = roll
        self.failures = 0

    def failed(self) -> float:
        """Note a failure; returns the seconds until the next try."""
        self.failures += 1
        return self._backoff.pause_s(self.failures, self._roll())

    def succeeded(self) -> None:
        self.failures = 0
