"""The last commits of a partition, in bounded memory, shared by its streams. A stream that is further behind reads the
log."""

from __future__ import annotations

from collections import deque
from typing import Final

from drover.api.live.record import RecordedCommit

WINDOW_EVENTS_MAX: Final = 20_000
WINDOW_BYTES_MAX: Final = 8 * 1024 * 1024
"""Maximum size of the window in bytes: a few seconds of the busiest farm. A stream that is further behind reads the
log."""


class Window:
    """All commits after the sequence number `floor` up to `seq`, without a gap."""

    def __init__(self, after: int, *, events_max: int = WINDOW_EVENTS_MAX, bytes_max: int = WINDOW_BYTES_MAX) -> None:
        self.floor = after
        self.seq = after
        self._events_max = events_max
        self._bytes_max = bytes_max
        self._events = 0
        self._bytes = 0
        self._commits: deque[RecordedCommit] = deque()

    def __len__(self) -> int:
        return len(self._commits)

    def add(self, commit: RecordedCommit) -> None:
        """Add the next commit. Drops the oldest commits if there is no room, but never the new one, however large it
        is."""
        assert commit.seq > self.seq
        self._commits.append(commit)
        self.seq = commit.seq
        self._events += len(commit.records)
        self._bytes += commit.size_bytes
        while len(self._commits) > 1 and (self._events > self._events_max or self._bytes > self._bytes_max):
            oldest = self._commits.popleft()
            self.floor = oldest.seq
            self._events -= len(oldest.records)
            self._bytes -= oldest.size_bytes

    def covers(self, after: int) -> bool:
        """Whether the window has all commits after this sequence number that exist so far."""
        return after >= self.floor

    def after(self, seq: int, bytes_max: int) -> list[RecordedCommit]:
        """Return the commits after a sequence number, oldest first: at most `bytes_max`, but at least one if there is
        one.

        Searches from the end of the window, because most streams lack only the newest commits.
        """
        assert self.covers(seq)
        newer: list[RecordedCommit] = []
        for commit in reversed(self._commits):
            if commit.seq <= seq:
                break
            newer.append(commit)
        newer.reverse()
        return first_of(newer, bytes_max)

    def get(self, seq: int) -> RecordedCommit | None:
        for commit in reversed(self._commits):
            if commit.seq <= seq:
                return commit if commit.seq == seq else None
        return None


def first_of(commits: list[RecordedCommit], bytes_max: int) -> list[RecordedCommit]:
    """Return the first commits that fit into `bytes_max`, but at least one."""
    size_bytes = 0
    for number, commit in enumerate(commits):
        size_bytes += commit.size_bytes
        if number and size_bytes > bytes_max:
            return commits[:number]
    return commits[:]
