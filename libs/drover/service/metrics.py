"""Metrics of HTTP and of the process. Other metrics are declared beside what they measure.

`docs/metrics.md` lists all of them; `make contracts` generates it from the code.
"""

from __future__ import annotations

import shutil
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from itertools import accumulate
from math import nan
from pathlib import Path
from typing import Final

from prometheus_client import REGISTRY, Gauge, disable_created_metrics
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from drover.service.health import Health

# Without `_created` series: they would double the number of series, and no rule or dashboard uses them.
disable_created_metrics()  # type: ignore[no-untyped-call]

BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TOO_MANY_REQUESTS: Final = 429

READY: Final = Gauge("drover_ready", "1 while this process is ready for requests; else 0, and /readyz says why")
SERVICE: Final = Gauge("drover_service_info", "1 for each service that runs in this process", ["service", "version"])
DISK_FREE: Final = Gauge("drover_disk_free_bytes", "Free space on the disk with this folder of drover up", ["folder"])
DISK_SIZE: Final = Gauge("drover_disk_size_bytes", "Size of the disk with this folder of drover up", ["folder"])


def show_process(health: Health, services: Iterable[str]) -> None:
    """Expose as metrics which services this process runs, and whether it is ready. Readiness is evaluated at every
    scrape."""
    READY.set_function(lambda: float(not health.not_ready()))
    for service in services:
        SERVICE.labels(service, version("drover")).set(1)


def show_disk(name: str, folder: Path) -> None:
    """Expose the free space and the size of the disk with this folder; NaN while the folder cannot be read, such as one
    on a disk that is not mounted, because all other metrics must still be served."""

    def usage() -> tuple[float, float]:
        try:
            found = shutil.disk_usage(folder)
        except OSError:
            return nan, nan
        return found.free, found.total

    DISK_FREE.labels(name).set_function(lambda: usage()[0])
    DISK_SIZE.labels(name).set_function(lambda: usage()[1])


class Timing:
    """The durations for one set of labels, as plain numbers that only the event loop uses. A histogram of
    prometheus_client takes a lock for each value, which would slow heartbeats down."""

    __slots__ = ("bounds", "in_bucket", "seconds")

    def __init__(self, bounds: Sequence[float] = BUCKETS_S) -> None:
        self.bounds = bounds
        self.in_bucket = [0] * (len(bounds) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float) -> None:
        self.in_bucket[bisect_left(self.bounds, seconds)] += 1
        self.seconds += seconds

    def add_to(self, family: HistogramMetricFamily, labels: Sequence[str]) -> None:
        names = [*(str(float(bound)) for bound in self.bounds), "+Inf"]
        family.add_metric(labels, list(zip(names, accumulate(self.in_bucket), strict=True)), self.seconds)


class Timings(Collector):
    """A histogram of seconds by labels, made of `Timing`s."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str]) -> None:
        self._of: dict[tuple[str, ...], Timing] = {}
        self._name = name
        self._documentation = documentation
        self._labels = labels
        REGISTRY.register(self)

    def of(self, *labels: str) -> Timing:
        """Return the `Timing` of these labels. Call this once and keep the result, so that measuring needs no
        look-up."""
        return self._of.setdefault(labels, Timing())

    def describe(self) -> Iterator[Metric]:
        yield self._family()

    def collect(self) -> Iterator[Metric]:
        family = self._family()
        for labels, timing in self._of.items():
            timing.add_to(family, labels)
        yield family

    def _family(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self._name, self._documentation, labels=self._labels)


class RouteMeter:
    """Counts the requests of one route."""

    __slots__ = ("by_class", "limited", "method", "route", "timing")

    def __init__(self, route: str, method: str) -> None:
        self.route = route
        self.method = method
        self.by_class = [0] * 6
        self.limited = 0
        self.timing = Timing()

    def observe(self, status: int, seconds: float) -> None:
        self.by_class[status // 100] += 1
        if status == TOO_MANY_REQUESTS:
            self.limited += 1
        self.timing.observe(seconds)


class _HttpMetrics(Collector):
    """Exposes all `RouteMeter`s as prometheus metrics at every scrape."""

    def __init__(self) -> None:
        self.meters: dict[tuple[str, str], RouteMeter] = {}

    def describe(self) -> Iterator[Metric]:
        yield from self._families()

    def collect(self) -> Iterator[Metric]:
        requests, limited, durations = self._families()
        for meter in self.meters.values():
            for status, count in enumerate(meter.by_class):
                if count:
                    requests.add_metric([meter.route, meter.method, f"{status}xx"], count)
            if meter.limited:
                limited.add_metric([meter.route, meter.method], meter.limited)
            if any(meter.by_class):  # skip routes without calls: there are hundreds, and each has 16 series
                meter.timing.add_to(durations, [meter.route, meter.method])
        yield requests
        yield limited
        yield durations

    def _families(self) -> tuple[CounterMetricFamily, CounterMetricFamily, HistogramMetricFamily]:
        return (
            CounterMetricFamily(
                "drover_http_requests",
                "HTTP requests answered, by route template, method and class of status (2xx, 4xx, …).",
                labels=["route", "method", "status"],
            ),
            CounterMetricFamily(
                "drover_http_limited_requests",
                "HTTP requests refused with 429 by the rate limit, by route template and method.",
                labels=["route", "method"],
            ),
            HistogramMetricFamily(
                "drover_http_request_duration_seconds",
                "Time from a request's arrival at its handler to its response, by route template and method.",
                labels=["route", "method"],
            ),
        )


_http: Final = _HttpMetrics()
REGISTRY.register(_http)


def route_meter(route: str, method: str) -> RouteMeter:
    """Return the meter of a route. `route`: its template, such as `/api/devices/{id}`. With the paths themselves, there
    would be one metric for each id."""
    return _http.meters.setdefault((route, method), RouteMeter(route, method))
