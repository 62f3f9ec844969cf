"""What traces cost: commands over the bus with spans exported, of all of them and of one in ten, against without.

Callers, bus and writer share this process and its one processor, so every span of the way is paid for here: for a
command three (sent, decided, committed), made and handed to the exporter, which forgets them.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.embedded.nats import nats_server
from drover.service import tracing
from drover.service.process import tune_garbage_collection
from drover.service.spans import exporting_spans
from drover.service.tracing import new_trace
from tests.bench.report import Figure, at_least, side_by_side
from tests.bench.spine_writer import NOTE, Count, _many, _writer


class Forgetful(SpanExporter):
    def export(self, spans: Sequence[Any]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


async def figures() -> list[Figure]:
    tune_garbage_collection()
    directory = Path(tempfile.mkdtemp(prefix="drover-bench-"))
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(nats_server(directory))
        client = await stack.enter_async_context(connected(server.url, "bench"))
        await stack.enter_async_context(_writer(client))
        bus = CommandBus(client)

        async def send(name: str) -> None:
            outcome = await bus.send("bench", Count(name, NOTE), by="bench", trace=str(new_trace()))
            assert outcome.position, outcome

        async def plain() -> float:
            assert tracing.recorder is None
            return await _many(send)

        async def traced(ratio: float) -> float:
            async with exporting_spans(None, ratio, "bench", ["scheduler"], environ={}, exporter=Forgetful()):
                return await _many(send)

        results = []
        for name, ratio, target in (("all", 1.0, 0.4), ("one_in_ten", 0.1, 0.8)):
            ours, limit = await side_by_side(lambda ratio=ratio: traced(ratio), plain, rounds=3)  # type: ignore[misc]
            results.append(at_least(f"traces.commands_{name}", ours, limit, target, "commands/s"))
        return results
