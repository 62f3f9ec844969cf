"""What is measured of analyses and their cleanup. Counted once: by the process that leads."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Histogram

_DURATION_S: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300)

TESTS = Counter("drover_analysis_tests_total", "Analyses started, completed, failed, and reported too late", ["what"])
CLEANED = Counter("drover_cleanup_tests_total", "Stalled analyses found by cleanups, by outcome", ["outcome"])
RUNS = Counter("drover_cleanup_runs_total", "Cleanups finished: clean, with tests skipped, or failed", ["result"])
for _result in ("clean", "skipped", "failed"):
    RUNS.labels(_result)  # from 0 on: the first failure is a step, too
SECONDS = Histogram(
    "drover_cleanup_duration_seconds", "From the start of a cleanup to its end, by event time", buckets=_DURATION_S
)
REFUSED = Counter("drover_cleanup_refused_calls_total", "Calls of the cleanup without a good secret")
