"""Spans are recorded when somebody wants them: with the ids that travel anyway, and only of what matters."""

from __future__ import annotations

import sys
import time

import pytest

from drover.service import tracing
from drover.service.config import ConfigurationError
from drover.service.spans import OpenTelemetryMissing, exporting_spans
from drover.service.tracing import COMMIT, Trace, begin, current, end_request, new_trace, parse, record
from tests.settings import load

BASE = {
    "DROVER_NATS_URL": "nats://nowhere:1",
    "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
    "DROVER_JWT_SECRETS": "s" * 32,
}
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def spans(monkeypatch):
    taken = []
    monkeypatch.setattr(tracing, "recorder", taken.append)
    return taken


def request(header=None, *, asked=True, failed=False):
    place, started = begin(header), time.perf_counter()
    if asked:
        current()
    end_request(place, "POST /things", started, {"http.route": "/things"}, failed=failed)
    return place


def test_a_request_is_the_first_span_of_its_trace(spans):
    place = request()
    (span,) = spans
    assert (span.trace, span.parent, span.kind) == (place.trace, None, "server")
    assert span.start_ns <= span.end_ns


def test_a_request_is_below_its_caller(spans):
    request(CALLER)
    (span,) = spans
    assert span.trace.trace_id == parse(CALLER).trace_id
    assert span.parent == parse(CALLER).span_id


def test_what_nobody_asked_about_leaves_no_span(spans):
    request(asked=False)
    request("not a header", asked=False)
    assert spans == []


def test_a_caller_who_traces_gets_a_span_even_of_a_heartbeat(spans):
    request(CALLER, asked=False)
    assert len(spans) == 1


def test_a_caller_who_does_not_want_to_be_recorded_is_not(spans):
    request(CALLER[:-2] + "00")
    assert spans == []


def test_the_ratio_decides_for_traces_that_begin_here(spans, monkeypatch):
    monkeypatch.setattr(tracing, "ratio", 0.0)
    request()
    assert spans == []
    monkeypatch.setattr(tracing, "ratio", 0.5)
    assert {new_trace().sampled for _ in range(200)} == {True, False}


def test_everybody_finds_the_same_named_child():
    place = Trace("a" * 32, "b" * 16)
    assert place.named_child(COMMIT) == Trace("a" * 32, "b" * 16).named_child(COMMIT)
    assert place.named_child(COMMIT) != place.named_child("project")
    assert parse(str(place.named_child(COMMIT))) is not None


def test_without_a_recorder_nothing_is_made_of_anything():
    assert tracing.recorder is None
    record("x", new_trace(), None, time.perf_counter(), {})
    request()


async def test_nobody_exports_unless_an_address_is_set():
    async with exporting_spans(None, 1.0, "x", ["gateway"], environ={}) as exporting:
        assert not exporting
        assert tracing.recorder is None
    disabled = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}
    async with exporting_spans(None, 1.0, "x", ["gateway"], environ=disabled) as exporting:
        assert not exporting


async def test_spans_reach_the_exporter_with_their_ids_and_who_made_them():
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    async with exporting_spans(None, 1.0, "gateway-1", ["gateway"], environ={}, exporter=memory) as exporting:
        assert exporting
        place = request(CALLER, failed=True)
    assert tracing.recorder is None
    (span,) = memory.get_finished_spans()
    assert (
        f"{span.context.trace_id:032x}-{span.context.span_id:016x}" == f"{place.trace.trace_id}-{place.trace.span_id}"
    )
    assert f"{span.parent.span_id:016x}" == parse(CALLER).span_id
    assert span.name == "POST /things"
    assert not span.status.is_ok
    assert span.resource.attributes["service.name"] == "drover-gateway"
    assert span.resource.attributes["service.instance.id"] == "gateway-1"


async def test_without_the_library_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(OpenTelemetryMissing, match=r"drover\[otel\]"):
        async with exporting_spans("http://collector:4318", 1.0, "x", ["gateway"], environ={}):
            pass


async def test_variables_that_others_are_meant_by_too_do_not_stop_the_start(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    standard = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
    async with exporting_spans(None, 1.0, "x", ["gateway"], environ=standard) as exporting:
        assert not exporting


def test_an_address_and_a_ratio_can_be_set():
    settings = load(BASE | {"DROVER_OTLP_ENDPOINT": "http://collector:4318", "DROVER_TRACE_RATIO": "0.1"})
    assert (settings.otlp_endpoint, settings.trace_ratio) == ("http://collector:4318", 0.1)
    with pytest.raises(ConfigurationError):
        load(BASE | {"DROVER_TRACE_RATIO": "2"})
