"""Commits in the form in which streams send them: the lines of the log and their types. Payloads of private contexts
are removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from drover.domain.event import Event
from drover.eventlog.codec import lines
from drover.eventlog.log import StoredCommit

UNREADABLE: Final = "unreadable"
"""The type given to a line of the log that cannot be parsed as an event. The line is sent like any other."""


class _Line(msgspec.Struct):
    type: str


_decode: Final = msgspec.json.Decoder(_Line).decode
_decode_fields: Final = msgspec.json.Decoder(dict[str, Any]).decode

ENVELOPE: Final = frozenset({"type", *Event.__struct_fields__})
_OPEN: Final = ("AlertRaised", "AlertResolved", "TermStarted")
"""Event types that are sent whole even from a private context, because they are written for people to read."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """One event of a commit, as a line of JSON."""

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
    """Convert a commit for streams. `private`: keep only actor, time, type and ids of its events. `untold`: fields to
    remove from the events of a context that is not private."""
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
