"""Metrics whose values need I/O: they are read regularly in the background, and exposed at every scrape."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from prometheus_client import REGISTRY
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from drover.service.tasks import end

REFRESH_EVERY_S: Final = 15.0

F = TypeVar("F", bound="Figures")


class Figures(Collector, ABC):
    """A set of metrics whose values need I/O, registered while its `async with` block is open.

    Several processes may expose the same values; alert rules take the maximum. A value that cannot be read is left out,
    because an old one would look valid.
    """

    def __init__(self, *, registry: CollectorRegistry = REGISTRY, refresh_every_s: float = REFRESH_EVERY_S) -> None:
        self._registry = registry
        self._refresh_every_s = refresh_every_s
        self._known: Sequence[GaugeMetricFamily] = ()

    async def __aenter__(self: F) -> F:
        self._registry.register(self)
        self._task = asyncio.create_task(self._run(), name=type(self).__name__)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._registry.unregister(self)
        await end(self._task)

    @abstractmethod
    def families(self) -> list[GaugeMetricFamily]:
        """Return all metrics, without values."""

    @abstractmethod
    async def read(self) -> Sequence[GaugeMetricFamily]:
        """Read and return all metrics, with the values that could be read. It must not raise if NATS or the database is
        unavailable."""

    def describe(self) -> Iterator[Metric]:
        yield from self.families()

    def collect(self) -> Iterator[Metric]:
        yield from self._known or self.families()

    async def _run(self) -> None:
        while True:
            self._known = await self.read()
            await asyncio.sleep(self._refresh_every_s)
