"""A commit as streams tell it: the lines of the log, untouched, each with its type. Of a private context less."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from drover.domain.event import Event
from drover.eventlog.codec import lines
from drover.eventlog.log import StoredCommit

UNREADABLE: Final = "unreadable"
"""The type of a line that is no event. It is told like any other: nothing is skipped."""


class _Line(msgspec.Struct):
    type: str


_decode: Final = msgspec.json.Decoder(_Line).decode
_decode_fields: Final = msgspec.json.Decoder(dict[str, Any]).decode

ENVELOPE: Final = frozenset({"type", *Event.__struct_fields__})
_OPEN: Final = ("AlertRaised", "AlertResolved", "TermStarted")
"""Of no context private: they are made to be read."""


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


def recorded(commit: StoredCommit, *, private: bool = False, untold: frozenset[str] = frozenset()) -> RecordedCommit:
    """`private`: nobody is told what its events say, only who, when, which type, and which ids.

    `untold`: fields that nobody is told, of events that are not private.
    """
    told: Iterable[bytes] = lines(commit.payload)
    if private:
        told = map(_without_payload, told)
    elif untold:
        told = (_without(untold, raw) for raw in told)
    found = tuple(Record(number, _type_of(raw), raw) for number, raw in enumerate(told))
    return RecordedCommit(commit.seq, found, len(commit.payload))


def _without_payload(raw: bytes) -> bytes:
    try:
        fields = _decode_fields(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return b"{}"  # it cannot be read, so nobody can say what is in it
    if fields.get("type") in _OPEN:
        return raw
    return msgspec.json.encode({name: value for name, value in fields.items() if _may_be_told(name)})


def _without(untold: frozenset[str], raw: bytes) -> bytes:
    try:
        fields = _decode_fields(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return b"{}"
    if untold.isdisjoint(fields):
        return raw
    return msgspec.json.encode({name: value for name, value in fields.items() if name not in untold})


def _may_be_told(name: str) -> bool:
    return name in ENVELOPE or name.endswith("_id")


def _type_of(raw: bytes) -> str:
    try:
        name = _decode(raw).type
    except (msgspec.DecodeError, UnicodeDecodeError):
        return UNREADABLE
    # It becomes a line of the stream: a name with a line break in it could pass for another event.
    return name if name.isidentifier() else UNREADABLE
