"""Metrics of render workers (document 003, the render queue, §7.1). Metrics of the queue itself come from the read
model."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Histogram

JOB_DURATION: Final = Histogram(
    "render_job_duration_seconds",
    "Time from started_at of a render, when nexrender accepted it, to its completion.",
    buckets=(10, 30, 60, 90, 120, 180, 240, 300, 600, 1200, 1800, 3600),
)
JOBS_ENDED: Final = Counter("render_runs_total", "Runs that ended in this process, by outcome.", ["outcome"])
