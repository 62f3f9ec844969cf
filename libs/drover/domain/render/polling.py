"""How often a worker polls for work (document 003, §6.1). New work is pushed; polling is for pushes that were lost."""

from __future__ import annotations

from typing import Final

import msgspec

EMPTY_POLLS_QUIET: Final = 10
"""After this many polls in a row without work, a worker polls at its idle interval."""
BUSY_S: Final = 5.0
"""A worker that has found work polls at least every so many seconds, until it changes to its idle interval."""


class Pace(msgspec.Struct):
    """The poll intervals of a worker, and its number of polls in a row without work."""

    every_s: float = 10.0
    idle_s: float = 30.0
    empty: int = 0

    def poll(self, found: bool) -> float:
        """Note whether a poll found work; return the seconds until the next poll."""
        self.empty = 0 if found else self.empty + 1
        if found:
            self.every_s = min(self.every_s, BUSY_S)
        return self.idle_s if self.empty >= EMPTY_POLLS_QUIET else self.every_s
