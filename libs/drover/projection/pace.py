"""The pause between two batches at the end of the log: a transaction for each commit of a busy log costs too much."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Pace:
    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self._wanted = 0
        """The highest position that a read waits for and that no pause was cut short for."""
        self._is_wanted = asyncio.Event()

    def hurry(self, seq: int) -> None:
        """A read waits for this position: cut the pause short before the batch that has it."""
        self._wanted = max(self._wanted, seq)
        self._is_wanted.set()

    async def pause(self, seq: int) -> None:
        """Wait, unless a read waits for something beyond this position."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause_s):
                while self._wanted <= seq:
                    self._is_wanted.clear()
                    await self._is_wanted.wait()
        self._wanted = 0  # one pause for each request: a position that never comes must not end all of them
