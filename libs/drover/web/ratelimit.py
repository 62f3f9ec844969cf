"""Token buckets by key, with a stop for whoever does not listen. Pure; which request takes from which is elsewhere."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from drover.domain.errors import Code
from drover.web.errors import ApiError

STOP_AFTER: Final = 3
STOP_S: Final = 300.0
KEYS_MAX: Final = 100_000
FORGOTTEN_AT_ONCE_MAX: Final = 2
"""Buckets that are full again and forgotten when a new one is made: more than one, so that they become fewer."""


class Allowed(msgspec.Struct, frozen=True):
    pass


class Refused(msgspec.Struct, frozen=True):
    retry_after_s: float
    stopped: bool = False
    """Everything of this key is refused until then."""
    first_stop: bool = False
    """Once for each stop, with the refusal that began it: somebody should be told."""


ALLOWED: Final = Allowed()


class _Bucket:
    """`full_at` says all of it: how many tokens there are is how far off that is."""

    __slots__ = ("full_at", "refusals", "stopped_until")

    def __init__(self) -> None:
        self.full_at = -math.inf
        self.refusals = 0
        self.stopped_until = -math.inf


class Limiter:
    """A key may be used `burst` times at once and `rate_per_s` times a second in the long run.

    Refused `stop_after` times in a row, it is stopped for `stop_s`; with None it never is. A use that is allowed ends
    the row.
    """

    def __init__(
        self,
        rate_per_s: float,
        burst: float,
        *,
        stop_after: int | None = STOP_AFTER,
        stop_s: float = STOP_S,
        keys_max: int = KEYS_MAX,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock`: seconds that never go backwards."""
        assert rate_per_s > 0
        assert min(burst, keys_max) >= 1
        assert stop_after is None or stop_after >= 1
        self._token_s = 1 / rate_per_s
        self._burst = burst
        self._clock = clock
        self._stop_after = stop_after
        self._stop_s = stop_s
        self._keys_max = keys_max
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()  # least recently used first

    def __len__(self) -> int:
        return len(self._buckets)

    def check(self, key: str) -> Allowed | Refused:
        """Use the key once, if it may be used."""
        now = self._clock()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._remember(key, now)
        else:
            self._buckets.move_to_end(key)
        if bucket.stopped_until > now:
            return Refused(bucket.stopped_until - now, stopped=True)
        full_at = max(bucket.full_at, now) + self._token_s
        wait_s = full_at - now - self._burst * self._token_s
        # Not zero: sums of token times are not exact, and a client that waited as it was told must be let in.
        if wait_s <= self._token_s * 1e-6:
            bucket.full_at = full_at
            bucket.refusals = 0
            return ALLOWED
        bucket.refusals += 1
        if self._stop_after is None or bucket.refusals < self._stop_after:
            return Refused(wait_s)
        bucket.refusals = 0
        bucket.stopped_until = now + self._stop_s
        return Refused(self._stop_s, stopped=True, first_stop=True)

    def _remember(self, key: str, now: float) -> _Bucket:
        for _ in range(FORGOTTEN_AT_ONCE_MAX):
            oldest = next(iter(self._buckets), None)
            if oldest is None or not self._is_idle(self._buckets[oldest], now):
                break
            del self._buckets[oldest]
        if len(self._buckets) >= self._keys_max:
            self._buckets.popitem(last=False)
        bucket = self._buckets[key] = _Bucket()
        return bucket

    def _is_idle(self, bucket: _Bucket, now: float) -> bool:
        """Whether forgetting it changes nothing: the next use would be allowed, and end any row of refusals."""
        return bucket.full_at <= now and bucket.stopped_until <= now


def too_many(retry_after_s: float) -> ApiError:
    """429, with whole seconds to wait, rounded up."""
    seconds = max(1, math.ceil(retry_after_s))
    return ApiError(
        429,
        Code.RATE_LIMITED,
        "Too many requests",
        details={"retry_after_s": seconds},
        hint="Wait for as long as Retry-After says.",
        headers={"Retry-After": str(seconds)},
    )
