"""Limits how often people may try to sign in: per account, against guessing one password from many network addresses,
and per network address, against guessing many passwords from one. Each process counts for itself."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

from drover.api.identity.metrics import SIGN_INS
from drover.web.limits import ADDRESS
from drover.web.ratelimit import Limited, Limiter, Refused

ADDRESS_SHARE: Final = 5
"""The limit per network address is this many times the limit per account, because a whole office may share an
address."""
ACCOUNT: Final = "account"


class Attempts:
    def __init__(self, per_min: float, burst: int, *, clock: Callable[[], float] = monotonic) -> None:
        # Neither limit blocks for long (`stop_after`): otherwise an attacker could lock the owner of an account out.
        self._accounts = Limiter(per_min / 60, burst, stop_after=None, clock=clock)
        self._addresses = Limiter(per_min * ADDRESS_SHARE / 60, burst * ADDRESS_SHARE, stop_after=None, clock=clock)

    def check(self, address: str, email_hash: str) -> None:
        """Count an attempt. Raises 429 beyond a limit, whether or not the account exists."""
        for limiter, key, kind in ((self._addresses, address, ADDRESS), (self._accounts, email_hash, ACCOUNT)):
            allowed = limiter.check(key)
            if isinstance(allowed, Refused):
                SIGN_INS.labels("limited").inc()
                raise Limited(allowed.retry_after_s, kind)
