"""The span of a command on the bus, from its sending to its outcome. Only made while spans are recorded."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from drover.bus.messages import Outcome, Rejected
from drover.domain.decider import Command
from drover.service.tracing import record, sampled_place


def traced(header: str, command: Command, context: str, outcome: asyncio.Future[Outcome]) -> str:
    """Start the span of a command, which ends with the outcome. Return the traceparent to send with the command, so
    that the writer's spans become children of this span."""
    above = sampled_place(header)
    if above is None:
        return header
    here, name, started = above.child(), type(command).__name__, time.perf_counter()

    def on_outcome(future: asyncio.Future[Outcome]) -> None:
        attributes: dict[str, Any] = {"drover.context": context, "drover.command": name}
        if future.cancelled():
            attributes["drover.outcome"] = "cancelled"
        else:
            result = future.result()
            attributes["drover.outcome"] = result.code if isinstance(result, Rejected) else "accepted"
            attributes["drover.position"] = result.position
        record(f"command {name}", here, above.span_id, started, attributes, kind="client")

    outcome.add_done_callback(on_outcome)
    return str(here)
