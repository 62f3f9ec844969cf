"""An event as the log stores it: its line of JSON and its position. Event types that this version does not know work
too."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec

from drover.cli.errors import DamagedCommit
from drover.domain.event import Event
from drover.eventlog.codec import lines
from drover.eventlog.log import StoredCommit

ENVELOPE: Final = frozenset({"type", *Event.__struct_fields__})


class _Line(msgspec.Struct):
    """The fields that every line of the log must have."""

    type: str
    n: int
    at: datetime
    by: str
    cause: str = ""
    trace: str | None = None


_decode_line: Final = msgspec.json.Decoder(_Line).decode
_decode_fields: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Record(msgspec.Struct, frozen=True):
    seq: int
    line: int
    """The number of the line in its commit, counted from 0, as in the ids of the read model's rows."""
    raw: bytes
    envelope: _Line

    @property
    def own(self) -> dict[str, Any]:
        """The event's own fields, without those that every event has."""
        return {name: value for name, value in _decode_fields(self.raw).items() if name not in ENVELOPE}

    @property
    def place(self) -> str:
        return f"{self.seq}:{self.line}"


def records(commit: StoredCommit) -> list[Record]:
    return [_record(commit.seq, number, raw) for number, raw in enumerate(lines(commit.payload))]


def last_of(commit: StoredCommit) -> Record:
    """Parse the last event of a commit, without parsing the others."""
    raw = lines(commit.payload)
    if not raw:
        raise DamagedCommit(commit.seq, 0, "the commit is empty")
    return _record(commit.seq, len(raw) - 1, raw[-1])


def _record(seq: int, number: int, raw: bytes) -> Record:
    try:
        return Record(seq, number, raw, _decode_line(raw))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedCommit(seq, number, str(error)) from None
