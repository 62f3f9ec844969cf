"""What live streams measure, save how many are open: `web.sse` counts that."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

EVENTS: Final = Counter("drover_api_stream_events_total", "Events told on live streams, all clients together")
OVERFLOWS: Final = Counter(
    "drover_api_stream_overflows_total",
    "Times that a client was too slow for the window and went back to the log",
)
