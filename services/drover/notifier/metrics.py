"""Metrics of the notifier. Labels have few values: receivers, phases and outcomes."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

_SECONDS: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600, 21600, 86400)

SENDINGS: Final = Counter(
    "drover_notifier_sendings",
    "Attempts to send alert notices, by outcome: delivered, passing, permanent, unknown",
    ["receiver", "phase", "outcome"],
)
DROPPED: Final = Counter(
    "drover_notifier_dropped",
    "Dropped notices: too old, or permanently refused by the receiver",
    ["receiver", "why"],
)
REPEATED: Final = Counter(
    "drover_notifier_repeated", "Retries of notices whose earlier try may have arrived", ["receiver"]
)
FOLDED: Final = Counter(
    "drover_notifier_folded", "Notices delivered in a message about several alerts of one kind", ["receiver"]
)
WAITING: Final = Gauge("drover_notifier_waiting_notices", "Notices waiting for delivery", ["receiver"])
DELAY: Final = Histogram(
    "drover_notifier_delay_seconds",
    "Seconds from an alert to its acknowledgement by the receiver",
    ["receiver"],
    buckets=_SECONDS,
)
LEADING: Final = Gauge("drover_notifier_leading", "1 if this process is the leader that delivers alerts")
