"""The metrics of HTTP, process-wide. Other metrics live beside what they measure; the registry is prometheus' own."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from prometheus_client import REGISTRY
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BOUNDS: Final = [*(str(bound) for bound in BUCKETS_S), "+Inf"]


class RouteMeter:
    """Counts the requests of one route. Bare numbers, touched by the event loop only: prometheus' own counters take a
    lock each, which a heartbeat would feel."""

    __slots__ = ("by_class", "in_bucket", "method", "route", "seconds")

    def __init__(self, route: str, method: str) -> None:
        self.route = route
        self.method = method
        self.by_class = [0] * 6
        self.in_bucket = [0] * len(_BOUNDS)
        self.seconds = 0.0

    def observe(self, status: int, seconds: float) -> None:
        self.by_class[status // 100] += 1
        self.in_bucket[bisect_left(BUCKETS_S, seconds)] += 1
        self.seconds += seconds


class _HttpMetrics(Collector):
    """Turns the meters into what prometheus reads, when it does."""

    def __init__(self) -> None:
        self.meters: dict[tuple[str, str], RouteMeter] = {}

    def describe(self) -> Iterator[Metric]:
        yield from self._families()

    def collect(self) -> Iterator[Metric]:
        requests, durations = self._families()
        for meter in self.meters.values():
            for status, count in enumerate(meter.by_class):
                if count:
                    requests.add_metric([meter.route, meter.method, f"{status}xx"], count)
            buckets = list(zip(_BOUNDS, accumulate(meter.in_bucket), strict=True))
            durations.add_metric([meter.route, meter.method], buckets, meter.seconds)
        yield requests
        yield durations

    def _families(self) -> tuple[CounterMetricFamily, HistogramMetricFamily]:
        return (
            CounterMetricFamily(
                "drover_http_requests",
                "HTTP requests answered, by route template, method and class of status (2xx, 4xx, …).",
                labels=["route", "method", "status"],
            ),
            HistogramMetricFamily(
                "drover_http_request_duration_seconds",
                "Time from a request's arrival at its handler to its answer, by route template and method.",
                labels=["route", "method"],
            ),
        )


_http: Final = _HttpMetrics()
REGISTRY.register(_http)


def route_meter(route: str, method: str) -> RouteMeter:
    """The meter of a route, by its template: a path with ids in it would have no bound."""
    return _http.meters.setdefault((route, method), RouteMeter(route, method))
