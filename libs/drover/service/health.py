"""Named checks of whether this process is ready for requests. `drover.web.probes` serves their results."""

from __future__ import annotations

from collections.abc import Callable

Check = Callable[[], str | None]
"""A function that returns None if all is well, else the problem as a sentence. It is called every few seconds, so it
must be cheap and must not block."""


class Health:
    """The checks of one process. A process that is ready may get requests.

    A process can also be degraded: it is ready, but it has a problem that another process would have, too, so sending
    the requests elsewhere would not help.
    """

    def __init__(self) -> None:
        self._ready: dict[str, Check] = {}
        self._degraded: dict[str, Check] = {}
        self._phase: str | None = "starting"

    def add_ready(self, name: str, check: Check) -> None:
        assert name not in self._ready, name
        self._ready[name] = check

    def add_degraded(self, name: str, check: Check) -> None:
        assert name not in self._degraded, name
        self._degraded[name] = check

    def started(self) -> None:
        self._phase = None

    def draining(self) -> None:
        self._phase = "draining"

    def not_ready(self) -> dict[str, str]:
        """By name of the check, the reasons why the process is not ready. Empty: it is ready."""
        reasons = _failing(self._ready)
        if self._phase is not None:
            reasons["process"] = f"The process is {self._phase}."
        return reasons

    def degraded(self) -> dict[str, str]:
        """By name of the check, the problems in spite of which the process is ready. Empty: there are none."""
        return _failing(self._degraded)


def _failing(checks: dict[str, Check]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for name, check in checks.items():
        try:
            reason = check()
        except Exception as fault:  # a broken check is a reason, too, and must not break the others
            reason = f"The check itself failed: {fault!r}"
        if reason is not None:
            reasons[name] = reason
    return reasons
