"""W3C trace context: read a `traceparent`, make one, go one level down. Exporting spans is not done here."""

from __future__ import annotations

import os
import re
from contextvars import ContextVar
from typing import Final

import msgspec

_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16


class Trace(msgspec.Struct, frozen=True):
    """One place in one trace."""

    trace_id: str
    span_id: str
    flags: str = "01"

    def __str__(self) -> str:
        """The header `traceparent` that tells somebody else of this place."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"

    def child(self) -> Trace:
        return Trace(self.trace_id, os.urandom(8).hex(), self.flags)


def new_trace() -> Trace:
    ids = os.urandom(24).hex()
    return Trace(ids[:32], ids[32:])


def parse(header: str) -> Trace | None:
    """The caller's place, or None where the header is not valid by the standard."""
    match = _TRACEPARENT.fullmatch(header)
    if match is None:
        return None
    version, trace_id, span_id, flags, rest = match.groups()
    if version == "ff" or trace_id == _NO_TRACE or span_id == _NO_SPAN or (version == "00" and rest):
        return None
    return Trace(trace_id, span_id, flags)


class _Place(msgspec.Struct):
    """Where a task is. Shared by the tasks that it starts, so that all of them see one trace."""

    header: str | None
    trace: Trace | None = None


_place: ContextVar[_Place] = ContextVar("trace")


def begin(header: str | None) -> None:
    """A request or command begins in this task. Its trace is made when somebody asks: heartbeats never do."""
    _place.set(_Place(header))


def current() -> Trace | None:
    """The trace of the request or command that this task works on: the caller's, or a new one; None outside of any."""
    place = _place.get(None)
    if place is None:
        return None
    if place.trace is None:
        caller = parse(place.header) if place.header else None
        place.trace = caller.child() if caller else new_trace()
    return place.trace


def current_id() -> str | None:
    trace = current()
    return None if trace is None else trace.trace_id
