"""Metrics of the bus: commands as their callers see them, signs of life, the connection to NATS."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge

from drover.service.metrics import Timings

COMMAND_SECONDS: Final = Timings(
    "drover_bus_command_seconds",
    "Time from sending a command over the bus to its outcome, retries included",
    ["context"],
)
RETRIES: Final = Counter(
    "drover_bus_message_retries_total",
    "Command messages that were sent again because there was no leader or no reply",
    ["context"],
)
UNANSWERED: Final = Counter(
    "drover_bus_unanswered_commands_total",
    "Commands without a reply before their deadline; their callers get 503",
    ["context"],
)
BEATS: Final = Counter(
    "drover_telemetry_beats_total",
    "Signs of life (heartbeats, polls, reports) forwarded, one for each device in a batch of 0.1 s",
    ["context"],
)
NATS_CONNECTED: Final = Gauge("drover_nats_connected", "1 while this process is connected to NATS")
