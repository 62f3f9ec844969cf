"""Reads the events of one context for one stream: from the shared window in memory while the stream keeps up, otherwise
from the log."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from drover.api.live.metrics import OVERFLOWS
from drover.api.live.place import Place
from drover.api.live.record import Record, RecordedCommit
from drover.api.live.tail import Tail
from drover.api.live.window import first_of

CHUNK_BYTES: Final = 64 * 1024
"""How many bytes a connection gets at once. A single commit that is larger is sent whole."""
LOG_BYTES: Final = 512 * 1024
"""How many bytes of one read of the log are kept in memory until they are sent. The rest is read again."""
LOG_READERS_MAX: Final = 8
"""Maximum of streams that read the log at once; others wait. Each read is short, so a slow client does not block
others."""
LOG_PAUSE_S: Final = 0.01
"""Pause in seconds before each read of the log, so that a stream that is far behind does not slow down the others."""


class Told(NamedTuple):
    """One commit, or the part of it that the client does not have yet."""

    seq: int
    records: tuple[Record, ...]


class Follower:
    """Returns every event of a context after a position, once and in order."""

    def __init__(self, tail: Tail, place: Place, lines: int, readers: asyncio.Semaphore) -> None:
        """`place`: the position to start after. `lines`: how many events the commit at that position has."""
        self.context: Final = tail.context
        self.place = place
        """The position of the last event that `take` returned."""
        self._tail = tail
        self._readers = readers
        # Inside a commit: start after the previous commit, and skip the first lines of this one.
        whole = place.line + 1 >= lines
        self._after = place.seq if whole else place.seq - 1
        self._left_out = 0 if whole else place.line + 1
        self._from_log: list[RecordedCommit] = []
        self._keeps_up = False

    @property
    def is_behind(self) -> bool:
        """Whether the window already has commits after this stream's position."""
        return self._after < self._tail.window.seq

    async def take(self) -> list[Told]:
        """Return the next commits; empty if there are none. If the call is cancelled, no commit is lost."""
        if self._from_log:
            return self._tell(first_of(self._from_log, CHUNK_BYTES))
        window = self._tail.window
        if window.covers(self._after):
            self._keeps_up = True
            newer = window.after(self._after, CHUNK_BYTES)
            return self._tell(newer) if newer else []
        if self._keeps_up:
            OVERFLOWS.inc()
            self._keeps_up = False
        self._from_log = await self._read_log()
        return self._tell(first_of(self._from_log, CHUNK_BYTES))

    async def _read_log(self) -> list[RecordedCommit]:
        """Read the next commits from the log. Call it only if the log has commits after this stream's position."""
        await asyncio.sleep(LOG_PAUSE_S)
        async with self._readers, self._tail.log.read(self._after) as reader:
            batch = await reader.next()
        kept, size_bytes = 0, 0
        for commit in batch:
            size_bytes += len(commit.payload)
            if kept and size_bytes > LOG_BYTES:
                break
            kept += 1
        return [self._tail.recorded(commit) for commit in batch[:kept]]

    def _tell(self, commits: list[RecordedCommit]) -> list[Told]:
        del self._from_log[: len(commits)]
        told = [Told(commit.seq, commit.records) for commit in commits]
        if self._left_out:
            assert commits[0].seq == self.place.seq
            told[0] = Told(commits[0].seq, commits[0].records[self._left_out :])
            self._left_out = 0
        self._after = commits[-1].seq
        self.place = Place(self._after, commits[-1].last_line)
        return told
