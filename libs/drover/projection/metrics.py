"""Every metric of projections and presence: names, help texts, units. Labels are contexts and their partitions."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

POSITION: Final = Gauge(
    "drover_projection_position",
    "Sequence of the last commit whose rows are in the read model",
    ["context", "partition"],
)
BEHIND: Final = Gauge(
    "drover_projection_behind_commits",
    "Lag: commits in the log that the read model does not have yet",
    ["context", "partition"],
)
EVENTS: Final = Counter("drover_projection_events", "Events whose rows were written and committed", ["context"])
BATCH_SECONDS: Final = Histogram(
    "drover_projection_batch_seconds",
    "Seconds to write and commit one batch",
    ["context"],
    buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30),
)
DELAY_SECONDS: Final = Histogram(
    "drover_projection_delay_seconds",
    "Seconds from the first event of a batch until its rows can be read",
    ["context"],
    buckets=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600),
)
FAILURES: Final = Counter(
    "drover_projection_failures", "Batches or terms that failed: retried, or stopped (see stopped)", ["context"]
)
STOPPED: Final = Gauge(
    "drover_projection_stopped",
    "1 while the projection has stopped and a person must act",
    ["context", "partition"],
)
DISK_FULL: Final = Gauge(
    "drover_projection_disk_full",
    "1 while the projection waits because the disk of Postgres is full",
    ["context", "partition"],
)
ACTIVE: Final = Gauge(
    "drover_projection_active",
    "1 while this process projects, 0 while it stands by",
    ["context", "partition"],
)
ROWS_PUBLISHED: Final = Counter(
    "drover_projection_rows_published", "Changed rows published to live readers", ["context"]
)
ROW_RESETS: Final = Counter(
    "drover_projection_row_resets",
    "Times that live readers of a relation were told to read it again, because too much had changed",
    ["context"],
)
ROW_FAILURES: Final = Counter(
    "drover_projection_row_failures", "Times that publishing changed rows failed; readers notice the gap", ["context"]
)
PRESENCE_ROWS: Final = Counter("drover_presence_rows", "Presence rows written", ["context"])
PRESENCE_DROPPED: Final = Counter(
    "drover_presence_dropped", "Signs of life not written: malformed, or too many devices waiting", ["context"]
)
