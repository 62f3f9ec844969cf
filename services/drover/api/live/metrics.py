"""Metrics of event streams. The number of open streams is counted in `web.sse`."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

EVENTS: Final = Counter("drover_api_stream_events_total", "Events sent on live streams to all clients")
OVERFLOWS: Final = Counter(
    "drover_api_stream_overflows_total",
    "Times that a client was too slow for the window and had to read the log",
)
