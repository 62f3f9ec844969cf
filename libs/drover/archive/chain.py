"""Checks a sequence of commits: none is missing, none comes twice, and their times do not go back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from drover.archive.errors import ChainBroken
from drover.domain.event import UNSTAMPED
from drover.eventlog.codec import lines
from drover.eventlog.log import StoredCommit


class _Stamp(msgspec.Struct):
    n: int
    at: datetime


_decoder: Final = msgspec.json.Decoder(_Stamp)


class Chain:
    """Checks consecutive commits one by one, starting at any position."""

    def __init__(self, after: int = 0, known: Mapping[str, int] | None = None) -> None:
        """`known`: by partition, the number of the last event before the start. None: unknown, so any number may come
        first."""
        self.seq = after
        self.events = 0
        self.commits = 0
        self.first_at: datetime = UNSTAMPED
        self.last_at: datetime = UNSTAMPED
        self.ordinals: dict[str, tuple[int, int]] = {}
        """By partition, the numbers of the first and the last event that were checked."""
        self._known = {} if after == 0 else known
        self._at: dict[str, datetime] = {}

    def take(self, partition: str, commit: StoredCommit) -> int:
        """Check the next commit; return its number of events. If it raises ChainBroken, the object is unchanged."""
        if commit.seq != self.seq + 1:
            raise ChainBroken(commit.seq, f"it comes right after commit {self.seq}")
        stamps = self._stamps(commit)
        n, at = self._last_n(partition), self._at.get(partition, UNSTAMPED)
        for stamp in stamps:
            if n is not None and stamp.n != n + 1:
                raise ChainBroken(commit.seq, f"event {stamp.n} of {partition} comes right after event {n}")
            if stamp.at < at:
                raise ChainBroken(commit.seq, f"event {stamp.n} of {partition} is older than the one before it")
            n, at = stamp.n, stamp.at
        self.seq = commit.seq
        self.commits += 1
        if not stamps:
            return 0
        if self.events == 0:
            self.first_at = stamps[0].at
        self.last_at = at
        first = self.ordinals[partition][0] if partition in self.ordinals else stamps[0].n
        self.ordinals[partition], self._at[partition] = (first, stamps[-1].n), at
        self.events += len(stamps)
        return len(stamps)

    def _last_n(self, partition: str) -> int | None:
        if partition in self.ordinals:
            return self.ordinals[partition][1]
        return None if self._known is None else self._known.get(partition, 0)

    def _stamps(self, commit: StoredCommit) -> list[_Stamp]:
        try:
            stamps = _decoder.decode_lines(commit.payload)
            if len(stamps) != commit.payload.count(b"\n") + (not commit.payload.endswith(b"\n")):
                stamps = [_decoder.decode(raw) for raw in lines(commit.payload)]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ChainBroken(commit.seq, f"one of its lines is not an event ({error})") from None
        if not stamps and commit.id:
            raise ChainBroken(commit.seq, "it is empty")
        return stamps
