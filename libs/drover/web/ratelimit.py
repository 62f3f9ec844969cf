"""Limits requests with token buckets, one for each key, and blocks a key that goes on after refusals. Whoever uses this
module chooses the keys, such as the name of a caller."""

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
"""How many idle buckets are removed at most whenever one is added. It is more than one, so that the number of buckets
can shrink."""


class Allowed(msgspec.Struct, frozen=True):
    pass


class Refused(msgspec.Struct, frozen=True):
    retry_after_s: float
    stopped: bool = False
    """Whether the key is blocked: all its uses are refused for the next `retry_after_s` seconds."""
    first_stop: bool = False
    """True for the refusal that starts a block, so that each block is reported once."""


ALLOWED: Final = Allowed()


class _Bucket:
    """The bucket of one key. It stores `full_at`, the time when the bucket will be full again; the number of tokens at
    any moment follows from that."""

    __slots__ = ("full_at", "refusals", "stopped_until")

    def __init__(self) -> None:
        self.full_at = -math.inf
        self.refusals = 0
        self.stopped_until = -math.inf


class Limiter:
    """Allows each key `burst` uses at once and `rate_per_s` uses a second in the long run.

    After `stop_after` refusals in a row (None: never), a key is blocked for `stop_s` seconds. An allowed use resets the
    count of refusals.
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
        """`clock`: returns seconds that never go back."""
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

    def check(self, key: str, uses: float = 1.0) -> Allowed | Refused:
        """Count a use of the key if that is allowed, and return whether it was. `uses`: as how many uses it counts."""
        now = self._clock()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._remember(key, now)
        else:
            self._buckets.move_to_end(key)
        if bucket.stopped_until > now:
            return Refused(bucket.stopped_until - now, stopped=True)
        full_at = max(bucket.full_at, now) + uses * self._token_s
        wait_s = full_at - now - self._burst * self._token_s
        # Not `<= 0`: sums of floats are inexact, and a client that waited for Retry-After must be allowed.
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
        """Whether removing the bucket changes nothing: the next use would be allowed and reset its refusals."""
        return bucket.full_at <= now and bucket.stopped_until <= now


class Limited(ApiError):
    """A request beyond a limit: 429, with Retry-After in whole seconds, rounded up."""

    def __init__(self, retry_after_s: float, kind: str) -> None:
        seconds = max(1, math.ceil(retry_after_s))
        super().__init__(
            429,
            Code.RATE_LIMITED,
            "Too many requests",
            details={"retry_after_s": seconds},
            hint="Wait for as long as Retry-After says.",
            headers={"Retry-After": str(seconds)},
        )
        self.retry_after_s = seconds
        self.kind = kind
        """The kind of caller that is limited: a role, a device, an address or an account."""
