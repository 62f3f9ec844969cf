"""A commit as streams send it: the unchanged lines of the log, each with its type. Less for a private context."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from drover.domain.event import Event
from drover.eventlog.codec import lines
from drover.eventlog.log import StoredCommit

UNREADABLE: Final = "unreadable"
"""The type of a line that is not an event. It is sent like any other: nothing is skipped."""


class _Line(msgspec.Struct):
    type: str


_decode: Final = msgspec.json.Decoder(_Line).decode
_decode_fields: Final = msgspec.json.Decoder(dict[str, Any]).decode

ENVELOPE: Final = frozenset({"type", *Event.__struct_fields__})
_OPEN: Final = ("AlertRaised", "AlertResolved", "TermStarted")
"""Event types that are never private: they are made for people to read."""


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
    """`private`: keep only actor, time, type and ids of the events. `untold`: fields to remove from events that are not
    private."""
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
        return b"{}"  # unreadable, so it may contain anything
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
    # The name becomes a line of the stream: with a line break in it, it could forge another event.
    return name if name.isidentifier() else UNREADABLE
