"""Two of every service on the cluster, each pair told apart by name, and one PostgreSQL. Any of them can be killed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from drover.embedded.postgres import postgres_server
from tests.chaos.cluster import NODES, Cluster
from tests.e2e.apart import Farm
from tests.e2e.process import DroverProcess

GROUPS: Sequence[tuple[str, ...]] = (
    ("scheduler",),
    ("projector",),
    ("gateway",),
    ("api",),
    ("render", "cleanup", "reminder"),
)
"""What shares a process. Those that nothing is killed of here may. They start in this order: edges are ready once a
projector has built their read models."""
PAIR = ("a", "b")


class ChaosFarm(Farm):
    """Processes of `drover serve` by name: `scheduler-a`, `scheduler-b`, …"""

    ready_s = 240.0

    def __init__(self, cluster: Cluster, postgres, folder: Path) -> None:
        super().__init__(cluster, postgres, folder)
        self.environ["DROVER_NATS_REPLICAS"] = str(NODES)
        self.named: dict[str, DroverProcess] = {}

    async def start(self, services: Sequence[str], letter: str) -> DroverProcess:
        name = f"{services[0]}-{letter}"
        self.named[name] = await self.serve(*services, name=name)
        return self.named[name]

    async def kill(self, name: str) -> None:
        process = self.named.pop(name)
        self.running.remove(process)
        process.send(signal.SIGKILL)
        await process.ended()

    def pair(self, service: str) -> list[DroverProcess]:
        return [process for name, process in self.named.items() if name.startswith(f"{service}-")]

    async def verify(self) -> tuple[int, str]:
        process = DroverProcess("verify", output=self.folder / "verify.log", environ=self.environ)
        try:
            return await process.ended(self.ready_s), process.output
        finally:
            await process.end()

    def said(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))


@asynccontextmanager
async def running_farm(cluster: Cluster, folder: Path) -> AsyncIterator[ChaosFarm]:
    async with postgres_server(folder) as postgres:
        farm = ChaosFarm(cluster, postgres, folder)
        try:
            await farm.migrate()
            for services in GROUPS:  # a pair at a time: a machine may have two cores
                await asyncio.gather(*(farm.start(services, letter) for letter in PAIR))
            yield farm
        finally:
            await asyncio.gather(*(process.end() for process in farm.running), return_exceptions=True)
