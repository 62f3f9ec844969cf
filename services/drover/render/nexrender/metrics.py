"""Latency of calls to nexrender. Name and unit are those of document 003 (the render queue), §7.1, so that
its dashboards work."""

from __future__ import annotations

from typing import Final

from prometheus_client import Histogram

LATENCY_MS: Final = Histogram(
    "nexrender_api_latency_ms",
    "Time from a call to nexrender to its answer or failure, in milliseconds, by call (health, find, list, submit, "
    "remove) and outcome (ok, down, refused, forbidden, confused).",
    ["call", "outcome"],
    buckets=(5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000),
)
