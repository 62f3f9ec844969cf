"""One stream's way through one context: from the shared window while it keeps up, else from the log itself."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from drover.api.live.metrics import OVERFLOWS
from drover.api.live.place import Place
from drover.api.live.record import Record, RecordedCommit
from drover.api.live.tail import Tail
from drover.api.live.window import first_of

CHUNK_BYTES: Final = 64 * 1024
"""What is handed to a connection at once, save for a commit that is larger by itself."""
LOG_BYTES: Final = 512 * 1024
"""Of what one look into the log gave, so much is kept while it is sent; the rest is read again."""
LOG_READERS_MAX: Final = 8
"""Streams that read the log at once. It is a short turn: whose client is slow does not keep the others from theirs."""
LOG_PAUSE_S: Final = 0.01
"""Between two turns of the same stream: a long way back must not take the process from those who are up to date."""


class Told(NamedTuple):
    """What of one commit comes next."""

    seq: int
    records: tuple[Record, ...]


class Follower:
    """Tells every event after a place once, in order, for as long as it is asked."""

    def __init__(self, tail: Tail, place: Place, lines: int, readers: asyncio.Semaphore) -> None:
        """`lines`: how many events the commit of that place has."""
        self.context: Final = tail.context
        self.place = place
        """The last event that was told, or passed over."""
        self._tail = tail
        self._readers = readers
        # A place within a commit is the commit before, and lines of this one to leave out.
        whole = place.line + 1 >= lines
        self._after = place.seq if whole else place.seq - 1
        self._left_out = 0 if whole else place.line + 1
        self._from_log: list[RecordedCommit] = []
        self._keeps_up = False

    @property
    def is_behind(self) -> bool:
        """There is more to be had at once."""
        return self._after < self._tail.window.seq

    async def take(self) -> list[Told]:
        """The next commits, if there are any. Safe to cancel: nothing is lost."""
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
        """The window begins later than this stream stands, so there is a commit to be read."""
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
