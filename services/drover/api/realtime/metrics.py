"""Metrics of Realtime. `web.sockets` counts the open sockets. Each label has few values."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge

CHANNELS: Final = Gauge("drover_realtime_channels", "Joined channels of Realtime")
CHANGES: Final = Counter("drover_realtime_changes_total", "Changed rows sent to clients of Realtime, each counted")
BROADCASTS: Final = Counter("drover_realtime_broadcasts_total", "Broadcasts delivered to clients of Realtime")
REJOINS: Final = Counter(
    "drover_realtime_rejoins_total",
    "Channels of Realtime that were told to join and read again: behind, hole, epoch",
    ["why"],
)
CLOSED: Final = Counter("drover_realtime_sockets_closed_total", "Sockets of Realtime closed by the server", ["why"])
PEER_MESSAGES_DROPPED: Final = Counter(
    "drover_realtime_peer_messages_dropped_total", "Broadcasts and presences that did not reach the other processes"
)
