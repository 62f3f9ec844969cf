"""Pauses between two batches at the end of the log. One transaction for each commit of a busy log costs too much."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Pace:
    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self._wanted = 0
        """The highest position that a read has asked for since the last pause."""
        self._is_wanted = asyncio.Event()

    def hurry(self, seq: int) -> None:
        """End the current or next pause, because a read waits for this position."""
        self._wanted = max(self._wanted, seq)
        self._is_wanted.set()

    async def pause(self, seq: int) -> None:
        """Pause, but not while a read waits for a position after `seq`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause_s):
                while self._wanted <= seq:
                    self._is_wanted.clear()
                    await self._is_wanted.wait()
        self._wanted = 0  # each request ends one pause: a position that never comes must not end them all
