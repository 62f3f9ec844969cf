"""Metrics that have to be asked for: read now and then in the background, told at every scrape."""

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
    """An async context manager: from start to stop its metrics are among those of the process.

    Several processes may run the same one and say the same; rules take the highest. What cannot be read is not told:
    an old number would look like a good one.
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
        """All of them, empty."""

    @abstractmethod
    async def read(self) -> Sequence[GaugeMetricFamily]:
        """All of them, with what could be read. Raises nothing that is to be expected."""

    def describe(self) -> Iterator[Metric]:
        yield from self.families()

    def collect(self) -> Iterator[Metric]:
        yield from self._known or self.families()

    async def _run(self) -> None:
        while True:
            self._known = await self.read()
            await asyncio.sleep(self._refresh_every_s)
