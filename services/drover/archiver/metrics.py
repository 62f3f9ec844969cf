"""Metrics of the archiver."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge

LEADING: Final = Gauge("drover_archiver_leading", "1 if this process is the one that archives the log")
ARCHIVED: Final = Gauge("drover_archive_position", "Sequence of the newest archived commit, by context", ["context"])
SUCCEEDED: Final = Gauge(
    "drover_archive_success_timestamp_seconds",
    "When the log of a context was last archived completely, as a Unix time",
    ["context"],
)
FAILURES: Final = Counter(
    "drover_archive_failures_total", "Rounds of the archiver that ended with an error, by context", ["context"]
)
BOTTOM: Final = Gauge(
    "drover_log_bottom", "Sequence of the first commit that stays in NATS, by partition", ["context", "partition"]
)
PURGED: Final = Counter("drover_log_purged_commits_total", "Archived commits that were removed from NATS", ["context"])
