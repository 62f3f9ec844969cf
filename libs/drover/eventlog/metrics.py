"""What is measured of the log's servers: whether they sync, and how full they are. How long the log is: `figures`."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge

SYNCED: Final = Gauge(
    "drover_log_synced",
    "1 while every NATS server was seen to sync each write; 0 where one does not, or it is allowed not to be known",
)
STORE_USED: Final = Gauge(
    "drover_log_store_used_bytes", "What a NATS server keeps on disk for JetStream, as it said last", ["server"]
)
STORE_LIMIT: Final = Gauge("drover_log_store_limit_bytes", "What it may keep there; beyond that it refuses", ["server"])
FOREIGN: Final = Counter(
    "drover_log_foreign_messages_total",
    "Messages read from a stream that no writer put there. They are passed over; whoever can write there should not",
    ["stream"],
)
