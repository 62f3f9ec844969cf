"""Metrics of reminders. Labels have few values: partitions, outcomes, sizes and kinds."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

_MILLISECONDS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000)
_SECONDS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60, 600, 3600)

PROCESSING_TIME_MS: Final = Histogram(
    "drover_reminder_processing_time_ms",
    "Milliseconds from the claim of a batch to the report of its last sending, by size of the batch",
    ["batch_size"],
    buckets=_MILLISECONDS,
)
BATCH_ALARMS: Final = Histogram(
    "drover_reminder_batch_alarms", "Alarms in a batch", buckets=(1, 2, 5, 10, 20, 50, 100, 150, 200)
)
CONCURRENCY: Final = Gauge("drover_reminder_concurrency_in_use", "Sendings in flight in this process")
CONCURRENCY_LIMIT: Final = Gauge("drover_reminder_concurrency_limit", "Limit of sendings in flight")
FETCH_LIMIT: Final = Gauge("drover_reminder_fetch_limit", "Limit of alarms in a claim, as currently set", ["partition"])
SENDINGS: Final = Counter(
    "drover_reminder_sendings",
    "Sendings tried, by outcome: delivered, passing, refused, permanent, unknown",
    ["provider", "outcome"],
)
DUE_TO_DISPATCHED: Final = Histogram(
    "drover_reminder_due_to_dispatched_seconds",
    "Seconds from the scheduled time of an alarm to its claim, for first tries of scheduled alarms",
    buckets=_SECONDS,
)
ALARMS: Final = Gauge("drover_reminder_alarms", "Alarms of a partition that this process leads", ["partition"])
IN_HAND: Final = Gauge(
    "drover_reminder_in_hand_alarms",
    "Alarms claimed and not yet reported, of partitions that this process leads",
    ["partition"],
)
ERRORS: Final = Counter(
    "drover_reminder_errors",
    "Faults by kind: past_schedule, batch_update, push, database, crowded_minute",
    ["kind"],
)
RETIRED: Final = Counter("drover_reminder_subscriptions_retired", "Subscriptions that push services reported as gone")
