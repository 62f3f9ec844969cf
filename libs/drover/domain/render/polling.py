"""When a worker asks for work next (003 §6.1). It is told of new work anyway; asking is for when it was not."""

from __future__ import annotations

from typing import Final

import msgspec

EMPTY_POLLS_QUIET: Final = 10
"""After this many without work a worker asks at the idle pace."""
BUSY_S: Final = 5.0
"""After work was found."""


class Pace(msgspec.Struct):
    """How the last polls went."""

    every_s: float = 10.0
    idle_s: float = 30.0
    empty: int = 0

    def poll(self, found: bool) -> float:
        """Note how a poll went; the seconds until the next one. Where work was found more of it may come."""
        self.empty = 0 if found else self.empty + 1
        if found:
            self.every_s = min(self.every_s, BUSY_S)
        return self.idle_s if self.empty >= EMPTY_POLLS_QUIET else self.every_s
