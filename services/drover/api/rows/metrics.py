"""What streams of rows measure, save how many are open: `web.sse` counts that."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

MESSAGES: Final = Counter("drover_api_row_messages_total", "Messages of changed rows told to clients, all together")
RESETS: Final = Counter(
    "drover_api_row_resets_total",
    "Relations that a client was told to read again: behind, hole, epoch (the projector's doing), slow (its own)",
    ["why"],
)
