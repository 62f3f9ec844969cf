"""Metrics of the NATS servers that store the log: whether they sync, and how full they are. The log's length is in
`figures`."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge

SYNCED: Final = Gauge(
    "drover_log_synced",
    "1 if every NATS server syncs each write; 0 if one does not, or if that is unknown and allowed",
)
STORE_USED: Final = Gauge(
    "drover_log_store_used_bytes", "Disk space that JetStream uses on a NATS server, as last reported", ["server"]
)
STORE_LIMIT: Final = Gauge(
    "drover_log_store_limit_bytes",
    "Disk space that JetStream may use on a NATS server; beyond it writes are refused",
    ["server"],
)
FOREIGN: Final = Counter(
    "drover_log_foreign_messages_total",
    "Foreign messages found in a stream and skipped. Whoever sent them should not have write access",
    ["stream"],
)
