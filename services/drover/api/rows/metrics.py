"""Metrics of row streams. The number of open streams is counted in `web.sse`."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

MESSAGES: Final = Counter("drover_api_row_messages_total", "Messages of changed rows sent to all clients")
RESETS: Final = Counter(
    "drover_api_row_resets_total",
    "Relations that a client was told to read again: behind, hole, epoch (caused by the projector), slow (by itself)",
    ["why"],
)
