"""What the bus measures: commands from their callers' side, signs of life, the connection to NATS."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge

from drover.service.metrics import Timings

COMMAND_SECONDS: Final = Timings(
    "drover_bus_command_seconds",
    "From handing a command to the bus to its outcome, with all tries in between",
    ["context"],
)
RETRIES: Final = Counter(
    "drover_bus_message_retries_total",
    "Messages of commands that had to be sent again: no leader, no answer",
    ["context"],
)
UNANSWERED: Final = Counter(
    "drover_bus_unanswered_commands_total",
    "Commands that nobody answered before their deadline; their callers are told 503",
    ["context"],
)
BEATS: Final = Counter(
    "drover_telemetry_beats_total", "Signs of life passed on, each device once in a batch (of 0.1 s)", ["context"]
)
NATS_CONNECTED: Final = Gauge("drover_nats_connected", "1 while this process is connected to NATS")
