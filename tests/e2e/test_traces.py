"""One trace from the request to the row that it led to, over two processes, as a collector gets it by OTLP."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from drover.testing.waiting import eventually

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra drover[otel] is not installed")

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"


class Collector:
    """Takes spans as OTLP has them, by trace."""

    def __init__(self):
        self.url = ""
        self.spans = defaultdict(dict)

    async def take(self, request):
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        for resource in ExportTraceServiceRequest.FromString(await request.read()).resource_spans:
            about = {one.key: one.value.string_value for one in resource.resource.attributes}
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.spans[span.trace_id.hex()][span.name] = (about["service.name"], span)
        return web.Response(body=b"", content_type="application/x-protobuf")

    @asynccontextmanager
    async def listening(self):
        app = web.Application()
        app.router.add_post("/v1/traces", self.take)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            await runner.cleanup()


def id_of(spans, name):
    return spans[name][1].span_id.hex()


def parent_of(spans, name):
    return spans[name][1].parent_span_id.hex()


@pytest.mark.req("EV-07")
async def test_one_trace_leads_from_the_request_to_the_row(farm):
    async with Collector().listening() as collector:
        spoken = {"DROVER_OTLP_ENDPOINT": collector.url}
        gateway, _ = await asyncio.gather(
            farm.serve("gateway", **spoken), farm.serve("scheduler", "projector", **spoken)
        )
        async with farm.calling(gateway) as http:
            answer = await http.register("TRACED0001", headers={"traceparent": f"00-{TRACE_ID}-{CALLER}-01"})
            assert answer.status == 201, answer

        async def whole():
            return len(collector.spans[TRACE_ID]) == 5

        await eventually(whole, 30)
    spans = collector.spans[TRACE_ID]
    request, command = "POST /rest/v1/devices", "command RegisterDevice"
    decision, commit, row = "decide RegisterDevice", "commit fleet", "project fleet"
    assert spans.keys() == {request, command, decision, commit, row}
    assert parent_of(spans, request) == CALLER
    assert parent_of(spans, command) == id_of(spans, request)
    assert parent_of(spans, decision) == id_of(spans, command)
    assert parent_of(spans, commit) == id_of(spans, command)
    assert parent_of(spans, row) == id_of(spans, commit)
    assert {name: spans[name][0] for name in spans} == {
        request: "drover-gateway",
        command: "drover-gateway",
        decision: "drover",
        commit: "drover",
        row: "drover",
    }
    positions = {one.key: one.value.int_value for name in (commit, row) for one in spans[name][1].attributes}
    assert positions["drover.position"] > 0
