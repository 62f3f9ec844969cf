"""How often somebody may try to sign in: by account, so that one password is not guessed from many places, and by
address, so that many are not guessed from one. Counted in each process for itself."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

from drover.api.identity.metrics import SIGN_INS
from drover.web.ratelimit import Limiter, Refused, too_many

ADDRESS_SHARE: Final = 5
"""So many times as much from one address as for one account: a whole office may be behind it."""


class Attempts:
    def __init__(self, per_min: float, burst: int, *, clock: Callable[[], float] = monotonic) -> None:
        # Never stopped outright: whoever tries somebody else's account would lock its owner out.
        self._accounts = Limiter(per_min / 60, burst, stop_after=None, clock=clock)
        self._addresses = Limiter(per_min * ADDRESS_SHARE / 60, burst * ADDRESS_SHARE, stop_after=None, clock=clock)

    def check(self, address: str, email_hash: str) -> None:
        """429 beyond that, whether there is such an account or not."""
        for limiter, key in ((self._addresses, address), (self._accounts, email_hash)):
            allowed = limiter.check(key)
            if isinstance(allowed, Refused):
                SIGN_INS.labels("limited").inc()
                raise too_many(allowed.retry_after_s)
