"""Exports spans by OTLP over HTTP if an address is set. Needs `drover[otel]`.

`tracing` makes the spans and their ids itself, because the ids are in the log. OpenTelemetry's library only sends the
spans, and reads the standard variables (`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_RESOURCE_ATTRIBUTES`, …). A bounded queue
of our own is between both: the event loop appends to it, and a thread sends.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import structlog
from prometheus_client import Counter

from drover.domain.errors import DroverError
from drover.service import tracing

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

STANDARD: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
TRACES_PATH: Final = "/v1/traces"
QUEUE_SPANS_MAX: Final = 8_192
"""The maximum number of spans in the queue. When it is full, the oldest are dropped: losing some spans does no harm."""
BATCH_SPANS_MAX: Final = 512
SEND_EVERY_S: Final = 1.0
FLUSH_S: Final = 5.0
"""How long the process waits at its end for spans that are not sent yet. The rest is lost."""

SPANS: Final = Counter("drover_spans_total", "Spans by outcome: exported, failed or dropped", ["outcome"])

log = structlog.get_logger("drover.service")


class OpenTelemetryMissing(DroverError):
    """`DROVER_OTLP_ENDPOINT` is set, but its library is not installed."""

    def __init__(self) -> None:
        super().__init__("DROVER_OTLP_ENDPOINT needs the extra: pip install 'drover[otel]'. Or unset it")


@asynccontextmanager
async def exporting_spans(
    endpoint: str | None,
    ratio: float,
    instance: str,
    services: Sequence[str],
    *,
    environ: Mapping[str, str] = os.environ,
    exporter: SpanExporter | None = None,
) -> AsyncIterator[bool]:
    """Record and export spans while the block runs. Yields True, or False if exporting is switched off.

    `exporter`: replaces OTLP in tests.
    """
    by_standard = any(environ.get(name) for name in STANDARD)
    if not (endpoint or by_standard or exporter) or environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield False
        return
    try:
        shipping = _Shipping(*_opened(endpoint, instance, services, exporter))
    except ImportError as error:
        if endpoint:
            raise OpenTelemetryMissing from error
        # The standard variables may be meant for other programs, so a missing library is only a warning.
        log.warning("spans_not_exported", why="pip install 'drover[otel]', or unset OTEL_EXPORTER_OTLP_ENDPOINT")
        yield False
        return
    tracing.recorder, tracing.ratio = shipping.take, ratio
    try:
        yield True
    finally:
        tracing.recorder, tracing.ratio = None, 1.0
        await asyncio.to_thread(shipping.stop)


class _Shipping:
    """Exports spans in a thread. Create it in the same process that records the spans, because a fork does not copy the
    thread."""

    def __init__(self, exporter: SpanExporter, converted: Callable[[tracing.Span], ReadableSpan]) -> None:
        self._exporter = exporter
        self._converted = converted
        self._queue: deque[tracing.Span] = deque(maxlen=QUEUE_SPANS_MAX)
        self._dropped = SPANS.labels("dropped")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
        self._thread.start()

    def take(self, span: tracing.Span) -> None:
        if len(self._queue) >= QUEUE_SPANS_MAX:
            self._dropped.inc()
        self._queue.append(span)

    def stop(self) -> None:
        """Send the remaining spans and end the thread. The wait has a time-out, because a collector that hangs must not
        block the exit."""
        self._stopping.set()
        self._thread.join(FLUSH_S)

    def _run(self) -> None:
        while not self._stopping.wait(SEND_EVERY_S):
            self._send_all()
        self._send_all()
        self._exporter.shutdown()

    def _send_all(self) -> None:
        while self._queue:
            batch = [self._converted(self._queue.popleft()) for _ in range(min(BATCH_SPANS_MAX, len(self._queue)))]
            try:
                outcome = "exported" if self._exporter.export(batch).value == 0 else "failed"
            except Exception as error:
                log.warning("spans_not_sent", error=repr(error))
                outcome = "failed"
            SPANS.labels(outcome).inc(len(batch))


def _opened(endpoint: str | None, instance: str, services: Sequence[str], exporter: SpanExporter | None) -> Any:
    """Make the exporter, and a function that converts our spans for it."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
    from opentelemetry.trace.status import Status, StatusCode

    release = version("drover")
    name = {"service.name": f"drover-{services[0]}" if len(services) == 1 else "drover"}
    if os.environ.get("OTEL_SERVICE_NAME"):
        name = {}
    resource = Resource.create(
        {**name, "service.version": release, "service.instance.id": instance, "drover.services": list(services)}
    )
    scope = InstrumentationScope("drover", release)
    sampled, failed, fine = TraceFlags(TraceFlags.SAMPLED), Status(StatusCode.ERROR), Status()
    kinds = {kind.name.lower(): kind for kind in SpanKind}

    def converted(span: tracing.Span) -> ReadableSpan:
        trace_id = int(span.trace.trace_id, 16)
        above = None if span.parent is None else SpanContext(trace_id, int(span.parent, 16), True, sampled)
        return ReadableSpan(
            span.name,
            context=SpanContext(trace_id, int(span.trace.span_id, 16), False, sampled),
            parent=above,
            resource=resource,
            attributes=span.attributes,
            kind=kinds[span.kind],
            status=failed if span.failed else fine,
            start_time=span.start_ns,
            end_time=span.end_ns,
            instrumentation_scope=scope,
        )

    return exporter or OTLPSpanExporter(endpoint=_traces_url(endpoint)), converted


def _traces_url(endpoint: str | None) -> str | None:
    """Return the URL for traces that the OTLP standard derives from a collector's base address. None if there is no
    base address: then OpenTelemetry reads the standard variables."""
    if endpoint is None or endpoint.endswith(TRACES_PATH):
        return endpoint
    return endpoint.rstrip("/") + TRACES_PATH
