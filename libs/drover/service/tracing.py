"""W3C trace context: read a `traceparent`, make one, go one level down; and spans, for whoever records them.

Nobody does unless `drover.service.spans` has been told where to export them to: then `recorder` is set, and that is all
that anybody looks at. Events carry the traceparent of their command, so every process finds its place by itself.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any, Final, Literal

import msgspec

_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16
_ODD: Final = frozenset("13579bdf")
"""The last letter of a header whose trace is recorded."""

COMMIT: Final = "commit"
"""Name of the span of a commit below its command's: by it the projector finds it, from what events carry."""

recorder: Callable[[Span], None] | None = None
"""Who takes spans. None: nobody, and nothing is made for them."""
ratio: float = 1.0
"""How many of the traces that begin here are recorded, from 0 to 1."""


class Trace(msgspec.Struct, frozen=True):
    """One place in one trace."""

    trace_id: str
    span_id: str
    flags: str = "01"

    def __str__(self) -> str:
        """The header `traceparent` that tells somebody else of this place."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"

    @property
    def sampled(self) -> bool:
        """Whether its spans are to be recorded, as whoever began the trace has decided."""
        return bool(int(self.flags, 16) & 1)

    def child(self) -> Trace:
        return Trace(self.trace_id, os.urandom(8).hex(), self.flags)

    def named_child(self, name: str) -> Trace:
        """The same one for everybody who knows this place: nobody need be told of a child to go on from it."""
        return Trace(self.trace_id, blake2b(f"{self.span_id}/{name}".encode(), digest_size=8).hexdigest(), self.flags)


def new_trace() -> Trace:
    ids = os.urandom(24).hex()
    # The last half of the id decides, as TraceIdRatioBased of OpenTelemetry has it.
    return Trace(ids[:32], ids[32:], "01" if ratio >= 1 or int(ids[16:32], 16) < ratio * 2**64 else "00")


def sampled_place(header: str) -> Trace | None:
    """The place of a header of ours, if its spans are recorded. Of those that are not, as cheap as can be."""
    return parse(header) if header[-1:] in _ODD else None


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
    caller: Trace | None = None


_place: ContextVar[_Place] = ContextVar("trace")


def begin(header: str | None) -> _Place:
    """A request or command begins in this task. Its trace is made when somebody asks: heartbeats never do."""
    place = _Place(header)
    _place.set(place)
    return place


def current() -> Trace | None:
    """The trace of the request or command that this task works on: the caller's, or a new one; None outside of any."""
    place = _place.get(None)
    if place is None:
        return None
    return _trace_of(place)


def _trace_of(place: _Place) -> Trace:
    if place.trace is None:
        place.caller = caller = parse(place.header) if place.header else None
        place.trace = caller.child() if caller else new_trace()
    return place.trace


def current_id() -> str | None:
    trace = current()
    return None if trace is None else trace.trace_id


Kind = Literal["server", "client", "producer", "consumer", "internal"]


class Span(msgspec.Struct):
    """One stretch of work in a trace, over and done with."""

    name: str
    trace: Trace
    parent: str | None
    """Id of the span above it; None: it is the first."""
    kind: Kind
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    failed: bool = False


def record(
    name: str,
    trace: Trace,
    parent: str | None,
    started: float,
    attributes: Mapping[str, Any],
    *,
    kind: Kind = "internal",
    ended: float | None = None,
    failed: bool = False,
) -> None:
    """Tell of a span that ended just now, or then. `started` and `ended` are of `time.perf_counter`."""
    if recorder is None or not trace.sampled:
        return
    now_ns, now = time.time_ns(), time.perf_counter()
    end_ns = now_ns if ended is None else now_ns - _ns(now - ended)
    recorder(Span(name, trace, parent, kind, now_ns - _ns(now - started), end_ns, dict(attributes), failed))


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)


def end_request(place: _Place, name: str, started: float, attributes: Mapping[str, Any], *, failed: bool) -> None:
    """What began with `begin` has been answered. Where nobody asked for its trace, and its caller has none, there is
    nothing to tell: heartbeats and polls stay as cheap as they are."""
    asked = place.trace is not None
    if not asked and not place.header:
        return
    trace, caller = _trace_of(place), place.caller
    if asked or caller is not None:
        parent = None if caller is None else caller.span_id
        record(name, trace, parent, started, attributes, kind="server", failed=failed)
