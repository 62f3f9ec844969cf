"""W3C trace context: parses and makes `traceparent`, makes child spans, records spans.

Spans are recorded only if `drover.service.spans` has set `recorder`. Events carry the `traceparent` of their command,
so every process that reads them knows the parent of its own spans.
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
"""The last characters that a `traceparent` with the sampled flag can have."""

COMMIT: Final = "commit"
"""The name of a commit's span. It is a child of its command's span. Its id is derived from the command's trace, which
is in the events, so the projector can compute the id without asking the writer."""

recorder: Callable[[Span], None] | None = None
"""The function that gets each finished span. None: no spans are made."""
ratio: float = 1.0
"""The share of new traces that is recorded, from 0 to 1."""


class Trace(msgspec.Struct, frozen=True):
    """One span in one trace."""

    trace_id: str
    span_id: str
    flags: str = "01"

    def __str__(self) -> str:
        """The header `traceparent` with this span as the parent."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"

    @property
    def sampled(self) -> bool:
        """Whether to record the spans of this trace. The program that began the trace has decided that."""
        return bool(int(self.flags, 16) & 1)

    def child(self) -> Trace:
        return Trace(self.trace_id, os.urandom(8).hex(), self.flags)

    def named_child(self, name: str) -> Trace:
        """Make a child whose id is derived from its name, so that every process can compute it."""
        return Trace(self.trace_id, blake2b(f"{self.span_id}/{name}".encode(), digest_size=8).hexdigest(), self.flags)


def new_trace() -> Trace:
    ids = os.urandom(24).hex()
    # The second half of the trace id decides whether it is sampled, as in TraceIdRatioBased of OpenTelemetry.
    return Trace(ids[:32], ids[32:], "01" if ratio >= 1 or int(ids[16:32], 16) < ratio * 2**64 else "00")


def sampled_place(header: str) -> Trace | None:
    """Parse a `traceparent` that we made. Returns None, at almost no cost, if its trace is not recorded."""
    return parse(header) if header[-1:] in _ODD else None


def parse(header: str) -> Trace | None:
    """Parse a caller's header; None if it is not valid by the standard."""
    match = _TRACEPARENT.fullmatch(header)
    if match is None:
        return None
    version, trace_id, span_id, flags, rest = match.groups()
    if version == "ff" or trace_id == _NO_TRACE or span_id == _NO_SPAN or (version == "00" and rest):
        return None
    return Trace(trace_id, span_id, flags)


class _Place(msgspec.Struct):
    """The trace of a request or command. All tasks that work on it share this object, so that they see the same
    trace."""

    header: str | None
    trace: Trace | None = None
    caller: Trace | None = None


_place: ContextVar[_Place] = ContextVar("trace")


def begin(header: str | None) -> _Place:
    """Begin a request or command in this task. Its trace is made only when somebody asks for it; heartbeats never
    do."""
    place = _Place(header)
    _place.set(place)
    return place


def current() -> Trace | None:
    """Return the trace of this task's request or command. It continues the caller's trace or is a new one. None: this
    task works on neither."""
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
    """A finished span."""

    name: str
    trace: Trace
    parent: str | None
    """Id of the parent span; None: it is the root."""
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
    """Record a span that ended now or at `ended`. `started` and `ended` are values of `time.perf_counter`."""
    if recorder is None or not trace.sampled:
        return
    now_ns, now = time.time_ns(), time.perf_counter()
    end_ns = now_ns if ended is None else now_ns - _ns(now - ended)
    recorder(
        Span(
            name=name,
            trace=trace,
            parent=parent,
            kind=kind,
            start_ns=now_ns - _ns(now - started),
            end_ns=end_ns,
            attributes=dict(attributes),
            failed=failed,
        )
    )


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)


def end_request(place: _Place, name: str, started: float, attributes: Mapping[str, Any], *, failed: bool) -> None:
    """End the request that `begin` began, and record its span. If nobody asked for its trace and the caller sent none,
    nothing is recorded, which keeps heartbeats and polls cheap."""
    used = place.trace is not None
    if not used and not place.header:
        return
    trace, caller = _trace_of(place), place.caller
    if used or caller is not None:
        parent = None if caller is None else caller.span_id
        record(name, trace, parent, started, attributes, kind="server", failed=failed)
