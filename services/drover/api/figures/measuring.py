"""Measures the farm once: phones by status, and how far the read models are behind."""

from __future__ import annotations

from typing import Protocol

from drover.api.figures.sampler import Sample
from drover.api.reads.database import ReadModels
from drover.api.reads.queries import QUERIES
from drover.api.reads.system import Partitions


class System(Protocol):
    """The method of `drover.api.reads.system.SystemReader` that is called here."""

    async def partitions(self) -> Partitions: ...


class Measuring:
    def __init__(self, models: ReadModels, system: System) -> None:
        self._models = models
        self._system = system

    async def measure(self) -> Sample:
        rows = await self._models.fetch("fleet", QUERIES["count_devices"])
        states = (await self._system.partitions()).partitions
        lags = [state.lag_s for state in states if state.lag_s is not None]
        return Sample({row["state"]: row["count"] for row in rows}, max(lags, default=None))
