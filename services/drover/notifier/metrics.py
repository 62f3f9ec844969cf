"""What the notifier measures. Labels are bounded: receivers, phases, outcomes."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

_SECONDS: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600, 21600, 86400)

SENDINGS: Final = Counter(
    "drover_notifier_sendings",
    "Notices of alerts that were tried, by what became of them: delivered, passing, permanent, unknown",
    ["receiver", "phase", "outcome"],
)
DROPPED: Final = Counter(
    "drover_notifier_dropped",
    "Notices that nobody will get: too old, or refused by their receiver for good",
    ["receiver", "why"],
)
REPEATED: Final = Counter(
    "drover_notifier_repeated", "Notices that were sent again although an earlier try may have arrived", ["receiver"]
)
WAITING: Final = Gauge("drover_notifier_waiting_notices", "Notices that are not delivered yet", ["receiver"])
DELAY: Final = Histogram(
    "drover_notifier_delay_seconds",
    "Seconds from an alert to the answer of the receiver that has it",
    ["receiver"],
    buckets=_SECONDS,
)
LEADING: Final = Gauge("drover_notifier_leading", "Whether this process is the one that delivers alerts")
