"""A commit as streams tell it: the lines of the log, untouched, each with its type."""

from __future__ import annotations

from typing import Final

import msgspec

from drover.eventlog.codec import lines
from drover.eventlog.log import StoredCommit

UNREADABLE: Final = "unreadable"
"""The type of a line that is no event. It is told like any other: nothing is skipped."""


class _Line(msgspec.Struct):
    type: str


_decode: Final = msgspec.json.Decoder(_Line).decode


class Record(msgspec.Struct, frozen=True, gc=False):
    """One event."""

    line: int
    type: str
    raw: bytes


class RecordedCommit(msgspec.Struct, frozen=True, gc=False):
    seq: int
    records: tuple[Record, ...]
    size_bytes: int

    @property
    def last_line(self) -> int:
        return max(0, len(self.records) - 1)


def recorded(commit: StoredCommit) -> RecordedCommit:
    found = tuple(Record(number, _type_of(raw), raw) for number, raw in enumerate(lines(commit.payload)))
    return RecordedCommit(commit.seq, found, len(commit.payload))


def _type_of(raw: bytes) -> str:
    try:
        name = _decode(raw).type
    except (msgspec.DecodeError, UnicodeDecodeError):
        return UNREADABLE
    # It becomes a line of the stream: a name with a line break in it could pass for another event.
    return name if name.isidentifier() else UNREADABLE
