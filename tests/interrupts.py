"""Lets Ctrl-C reach the processes that tests start, also if the tests themselves run in the background."""

from __future__ import annotations

import signal


def heed_interrupts() -> None:
    """A shell without job control starts background jobs with SIGINT ignored, and all processes below inherit that.
    They do not inherit a handler: they begin with the default."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
