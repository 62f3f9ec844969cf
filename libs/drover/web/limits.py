"""Limits how often each caller may use this process. Every route counts its calls here, before its handler runs.

Callers are counted by principal, not by address, because a whole farm shares one address. Only callers without a
principal and failed authentications are counted by address. Each process counts for itself.
"""

from __future__ import annotations

import math
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import web
from prometheus_client import Counter

from drover.service.api_keys import Role
from drover.service.config import Settings
from drover.web.auth import Principal
from drover.web.callers import Callers
from drover.web.ratelimit import Limited, Limiter, Refused

REQUESTS_PER_S: Final = 50.0
REQUESTS_BURST: Final = 500

SHARES: Final = {
    Role.ANON: 10.0,
    Role.DEVICE: 0.5,
    Role.SERVICE_ROLE: 40.0,
    Role.ADMIN: 1.0,
    Role.OPERATOR: 1.0,
    Role.VIEWER: 1.0,
    Role.AUTHENTICATED: 0.2,
}
"""By role, how many times DROVER_REQUESTS_PER_S a principal may use. All programs of the back office share one
principal. All phones with the anon key share one, too, unless they say which device they are."""
CLAIMED_SHARE: Final = 0.5
"""The share of a caller with the anon key that says which device it is. It is the same as that of a device with its own
key."""
ADDRESS_SHARE: Final = 1.0
"""The share of an address for requests that need no token, such as signing in."""
FAILED_SHARE: Final = 0.4
"""The share of an address for requests whose authentication fails."""
PERSONAL: Final = {
    Role.DEVICE: 4,
    Role.AUTHENTICATED: 10,
    Role.ADMIN: 50,
    Role.OPERATOR: 50,
    Role.VIEWER: 50,
}
"""How many streams and Realtime sockets one principal may have open in a process, by role. The roles of keys that many
callers share are not here: for them only the limits of the whole process apply."""
OPEN_RETRY_AFTER_S: Final = 10.0
"""After how many seconds a caller with too many open streams should try again. It must first close one itself."""
ADDRESS: Final = "address"
"""The kind of caller, in metrics, of requests that are counted by address."""

TELL_AFTER: Final = 100
"""How many refusals of one caller raise an alert. One a second is forgiven: only those above that rate add up."""
TELL_AGAIN_S: Final = 3600.0

LIMITED: Final = Counter(
    "drover_limited_uses_total",
    "Requests and frames refused by a limit, by kind of caller and route template",
    ["principal", "route"],
)


def tell_nobody(caller: str) -> None:
    """The default of `Limits.tell`: raise no alert."""


def nobody_claimed(request: web.Request) -> str | None:
    """The default of `Limits.claimed_device`: find no device, because this process does not know the devices of the
    farm."""
    return None


class Limits:
    """Counts the requests of every caller of one process. A refusal is a 429 that says when to come back."""

    def __init__(
        self,
        per_s: float = REQUESTS_PER_S,
        burst: int = REQUESTS_BURST,
        *,
        callers: Callers | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        def limiter(share: float) -> Limiter:
            # `stop_after=None`: a caller that waits as long as it is told must be served, and many callers may share a
            # key.
            return Limiter(per_s * share, max(burst * share, 1.0), stop_after=None, clock=clock)

        self._callers = callers or Callers()
        self._by_role = {role: limiter(share) for role, share in SHARES.items()}
        self._claimed = limiter(CLAIMED_SHARE)
        self._addresses = limiter(ADDRESS_SHARE)
        self._failed = limiter(FAILED_SHARE)
        self._open: Tally[str] = Tally()
        self._patience = Limiter(1.0, TELL_AFTER, stop_after=1, stop_s=TELL_AGAIN_S, clock=clock)
        self.tell: Callable[[str], None] = tell_nobody
        """Called with the name of a principal that goes on although it is refused, at most once an hour for each."""
        self.claimed_device: Callable[[web.Request], str | None] = nobody_claimed
        """Returns the id of the known device that a request with the anon key says it is from; None if there is no such
        device. Unknown devices must not count: with made-up names, a caller would never reach a limit."""

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        callers = Callers(settings.trusted_proxies)
        return cls(settings.requests_per_s, settings.requests_burst, callers=callers)

    def count(self, principal: Principal, request: web.Request, uses: float = 1.0) -> None:
        """Count a request of a principal. Raises 429 beyond the limit. `uses`: as how many requests it counts."""
        role, key, limiter = principal.role, principal.name, self._by_role[principal.role]
        if role is Role.ANON and (device_id := self.claimed_device(request)) is not None:
            key, limiter = device_id, self._claimed
        try:
            demand(limiter, key, role, uses)
        except Limited:
            self.note_refusal(f"{role}:{key}" if limiter is self._claimed else key)
            raise

    def note_refusal(self, caller: str) -> None:
        """Note that a caller was refused. If it goes on, an alert names it."""
        verdict = self._patience.check(caller)
        if isinstance(verdict, Refused) and verdict.first_stop:
            self.tell(caller)

    def check_room(self, principal: Principal) -> None:
        """Raise 429 if the principal has too many streams and sockets open."""
        if self._open[principal.name] >= PERSONAL.get(principal.role, math.inf):
            raise Limited(OPEN_RETRY_AFTER_S, principal.role)

    @contextmanager
    def holding(self, principal: Principal) -> Iterator[None]:
        """Count a stream or a socket as open while the block runs."""
        self._open[principal.name] += 1
        try:
            yield
        finally:
            self._open[principal.name] -= 1
            if not self._open[principal.name]:
                del self._open[principal.name]

    def count_address(self, request: web.Request, uses: float = 1.0) -> None:
        """Count a request that needs no token, by its address. Raises 429 beyond the limit."""
        demand(self._addresses, self._callers.key_of(request), ADDRESS, uses)

    def count_failure(self, request: web.Request) -> None:
        """Count a request whose authentication failed. Raises 429 beyond the limit. Other requests from the same
        address are served."""
        demand(self._failed, self._callers.key_of(request), ADDRESS)


def demand(limiter: Limiter, key: str, kind: str, uses: float = 1.0) -> None:
    """Count `uses` for a key of the limiter. Raises 429 beyond its limit. `kind`: the kind of caller, for metrics."""
    verdict = limiter.check(key, uses)
    if isinstance(verdict, Refused):
        raise Limited(verdict.retry_after_s, kind)
