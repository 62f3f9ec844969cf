"""Reads each partition's log once for all streams of a process, and wakes them when it has grown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from drover.api.live.place import START, Place
from drover.api.live.record import RecordedCommit, recorded
from drover.api.live.window import Window
from drover.domain.contexts import context_named
from drover.eventlog.follow import Follower
from drover.eventlog.log import EventLog, StoredCommit

WARM_COMMITS: Final = 256
"""How many commits before the end of the log the reading starts. So clients that reconnect after a restart of this
process find what they missed in memory."""


class Bell:
    """Wakes all waiting streams."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def listen(self) -> asyncio.Event:
        """Return an event that the next ring sets. Call this before checking for data, so that no ring is missed."""
        return self._next

    def ring(self) -> None:
        self._next.set()
        self._next = asyncio.Event()


class Tail:
    """Reads the log of one partition, and keeps its last commits in memory."""

    def __init__(self, event_log: EventLog, bell: Bell, window: Callable[[int], Window] = Window) -> None:
        self.log = event_log
        self.context: Final = event_log.partition.context
        self.window = window(0)
        self.end: Place | None = None
        """The position of the last known event: a stream without a start position begins after it. None: the log was
        not read yet."""
        self._make_window = window
        self._bell = bell
        self._follower = Follower(event_log, self._add, name=f"the live stream of {self.context}", begin=self._begin)
        self.wait_failed = self._follower.wait_failed

    def recorded(self, commit: StoredCommit) -> RecordedCommit:
        """Convert a commit of this context into the form in which streams send it."""
        known = context_named(self.context)
        return recorded(commit, private=known.is_private, untold=known.hidden_fields)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._follower.running():
            yield

    async def _begin(self, last: StoredCommit | None) -> int:
        begin = 0 if last is None else max(0, last.seq - WARM_COMMITS)
        self.window = self._make_window(begin)
        self.end = START if last is None else Place(last.seq, self.recorded(last).last_line)
        return begin

    def _add(self, commit: StoredCommit) -> None:
        added = self.recorded(commit)
        self.window.add(added)
        if self.end is None or added.seq > self.end.seq:
            self.end = Place(added.seq, added.last_line)
        self._bell.ring()
