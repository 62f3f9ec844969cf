"""What each process of the platform used: CPU as a share of one core, memory at its peak. Sampled, no more."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress

import psutil

EVERY_S = 1.0


class Usage:
    def __init__(self) -> None:
        self._seen: dict[str, dict[int, psutil.Process]] = {}
        self.cpu_s: dict[str, dict[int, float]] = {}
        self.rss_peak: dict[str, int] = {}

    def watch(self, name: str, pid: int) -> None:
        self._seen.setdefault(name, {})[pid] = psutil.Process(pid)

    @asynccontextmanager
    async def sampling(self):
        async def sample():
            while True:
                for name in list(self._seen):
                    self._sample(name)
                await asyncio.sleep(EVERY_S)

        task = asyncio.create_task(sample())
        try:
            yield
        finally:
            task.cancel()

    def _sample(self, name: str) -> None:
        rss = 0
        for head in list(self._seen[name].values()):
            with suppress(psutil.NoSuchProcess):
                for process in [head, *head.children(recursive=True)]:
                    with suppress(psutil.NoSuchProcess):
                        times, memory = process.cpu_times(), process.memory_info()
                        # Pages that processes share (Postgres) would be counted once for each.
                        rss += memory.rss - getattr(memory, "shared", 0)
                        self.cpu_s.setdefault(name, {})[process.pid] = times.user + times.system
        self.rss_peak[name] = max(self.rss_peak.get(name, 0), rss)

    def table(self, seconds: float) -> list[tuple[str, float, float]]:
        """Name, cores, MB."""
        return [
            (name, sum(self.cpu_s.get(name, {}).values()) / seconds, self.rss_peak.get(name, 0) / 1e6)
            for name in self._seen
        ]
