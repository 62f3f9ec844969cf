"""Computes how long an agent pauses after an answer: backoff, Retry-After, and long pauses. Pure; it neither sends nor
sleeps."""

from __future__ import annotations

from typing import Final

from drover.agent.protocol import Answer
from drover.domain.backoff import Backoff

RETRY: Final = Backoff(first_s=5.0, max_s=60.0)

THROTTLED_S: Final = 60.0
"""The pause in seconds after a 429 without `Retry-After`."""

THROTTLES_MAX: Final = 3
"""After this many answers 429 in a row, the agent pauses for `THROTTLED_LONG_S`."""

THROTTLED_LONG_S: Final = 300.0

UNREACHABLE_AFTER_S: Final = 300.0
"""After this many seconds without a connection, the agent retries every `UNREACHABLE_RETRY_S` instead of backing
off."""

UNREACHABLE_RETRY_S: Final = 10.0

RETRY_AFTER_MAX_S: Final = 3600.0
"""The longest `Retry-After` in seconds that an agent obeys; a longer one is shortened to this."""


class AgentBackoff:
    """The history of answers that an agent's next pause depends on."""

    __slots__ = ("_failures", "_throttles", "_unreachable_since")

    def __init__(self) -> None:
        self._failures = 0
        self._throttles = 0
        self._unreachable_since: float | None = None

    def pause_after(self, answer: Answer, now: float) -> float:
        """Return the seconds to wait before the next request; 0 after a success."""
        if answer.connected:
            self._unreachable_since = None
        if answer.ok:
            self._failures = self._throttles = 0
            return 0.0
        asked_s = min(answer.retry_after_s or 0.0, RETRY_AFTER_MAX_S)
        if answer.status == 429:
            return self._throttled(asked_s)
        self._throttles = 0
        if not answer.connected and self._long_unreachable(now):
            return UNREACHABLE_RETRY_S
        self._failures += 1
        return max(RETRY.pause_s(self._failures), asked_s)

    def _throttled(self, asked_s: float) -> float:
        self._throttles += 1
        if self._throttles < THROTTLES_MAX:
            return asked_s or THROTTLED_S
        self._throttles = 0
        return max(asked_s, THROTTLED_LONG_S)

    def _long_unreachable(self, now: float) -> bool:
        if self._unreachable_since is None:
            self._unreachable_since = now
        return now - self._unreachable_since >= UNREACHABLE_AFTER_S
