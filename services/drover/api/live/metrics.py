"""Metrics of live streams. `web.sse` counts the open ones."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

EVENTS: Final = Counter("drover_api_stream_events_total", "Events sent on live streams to all clients")
OVERFLOWS: Final = Counter(
    "drover_api_stream_overflows_total",
    "Times that a client was too slow for the window and had to read the log",
)
