"""Metrics of analyses and their cleanup. Only the leading process updates them."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Histogram

_DURATION_S: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300)

TESTS = Counter("drover_analysis_tests_total", "Analyses started, completed, failed, and reported too late", ["what"])
CLEANED = Counter("drover_cleanup_tests_total", "Stalled analyses found by cleanups, by outcome", ["outcome"])
RUNS = Counter("drover_cleanup_runs_total", "Cleanups finished: clean, with tests skipped, or failed", ["result"])
for _result in ("clean", "skipped", "failed"):
    RUNS.labels(_result)  # start at 0, so that `increase` sees the first failure
SECONDS = Histogram(
    "drover_cleanup_duration_seconds",
    "Seconds from the start of a cleanup to its end, by event time",
    buckets=_DURATION_S,
)
REFUSED = Counter("drover_cleanup_refused_calls_total", "Cleanup requests without a valid secret")
