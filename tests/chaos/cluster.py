"""Three nats-servers on loopback that hold three copies of everything. Each can be killed, paused and started again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import nats.js.api as api
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.bus.connection import connected
from drover.embedded import programs
from drover.embedded.process import GuardedProcess, Log, StopStep
from drover.testing.waiting import eventually
from tests.e2e.process import free_port

NODES = 3
HOST = "127.0.0.1"
PASSWORD = "chaos"
START_S = 60.0
STOP = (StopStep(signal.SIGTERM, 10.0), StopStep(signal.SIGKILL, 5.0))


class Node:
    """One nats-server under a guard: it does not outlive us, but nobody starts it again when it dies."""

    def __init__(self, number: int, folder: Path, ports: list[int], routes: list[int]) -> None:
        self.name = f"n{number}"
        self.port = ports[number]
        self._folder = folder / self.name
        self._folder.mkdir(parents=True)
        self._log = Log(self._folder / "nats.log")
        self._process: GuardedProcess | None = None
        self._config = self._folder / "nats.conf"
        self._config.write_text(json.dumps(self._settings(routes[number], routes)))

    def _settings(self, route: int, routes: list[int]) -> dict[str, object]:
        return {
            "server_name": self.name,
            "listen": f"{HOST}:{self.port}",
            "max_payload": 8 * 1024 * 1024,
            "jetstream": {"store_dir": str(self._folder), "sync_interval": "always"},
            "cluster": {
                "name": "chaos",
                "listen": f"{HOST}:{route}",
                "routes": [f"nats-route://{HOST}:{port}" for port in routes],
            },
            "accounts": {
                "APP": {"jetstream": "enabled", "users": [{"user": "drover", "password": PASSWORD}]},
                "SYS": {"users": [{"user": "sys", "password": PASSWORD}]},
            },
            "system_account": "SYS",
        }

    def url_as(self, user: str) -> str:
        return f"nats://{user}:{PASSWORD}@{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    async def start(self) -> None:
        argv = [str(programs.nats_server()), "-c", str(self._config)]
        self._process = await GuardedProcess.spawn(argv, steps=STOP, cwd=self._folder, log=self._log)

    async def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)
            await process.stop()

    async def kill(self) -> None:
        """As a power failure does: nothing is said to anybody."""
        process, self._process = self._process, None
        assert process is not None, f"{self.name} does not run"
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """It answers nobody, and all its connections stay open: a disk or a machine that hangs."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)


class Cluster:
    def __init__(self, folder: Path) -> None:
        ports = [free_port() for _ in range(2 * NODES)]
        self.nodes = [Node(number, folder, ports[:NODES], ports[NODES:]) for number in range(NODES)]

    @property
    def url(self) -> str:
        return ",".join(node.url_as("drover") for node in self.nodes)

    @property
    def system_url(self) -> str:
        return ",".join(node.url_as("sys") for node in self.nodes)

    async def info(self, client: Client, stream: str) -> api.StreamInfo:
        """Asked until somebody answers: right after a death nobody may."""

        async def answered() -> api.StreamInfo | None:
            with suppress(NatsError, TimeoutError):
                found = await client.jetstream().stream_info(stream)
                return found if found.cluster is not None and found.cluster.leader else None
            return None

        return await eventually(answered, START_S, every_s=0.2)

    async def leader(self, client: Client, stream: str) -> Node:
        info = await self.info(client, stream)
        assert info.cluster is not None
        return next(node for node in self.nodes if node.name == info.cluster.leader)

    async def follower(self, client: Client, stream: str) -> Node:
        leader = await self.leader(client, stream)
        return next(node for node in self.nodes if node is not leader)

    async def caught_up(self, client: Client, stream: str) -> bool:
        """Whether every node has all of the stream."""
        cluster = (await self.info(client, stream)).cluster
        assert cluster is not None
        copies = cluster.replicas or []
        return len(copies) == NODES - 1 and all(copy.current and not copy.lag and not copy.offline for copy in copies)


@asynccontextmanager
async def running_cluster(folder: Path) -> AsyncIterator[Cluster]:
    cluster = Cluster(folder)
    try:
        await asyncio.gather(*(node.start() for node in cluster.nodes))
        async with connected(cluster.url, "waiting") as client:
            await eventually(lambda: _has_leader(client), START_S, every_s=0.1)
        yield cluster
    finally:
        await asyncio.gather(*(node.stop() for node in cluster.nodes))


async def _has_leader(client: Client) -> bool:
    with suppress(NatsError, TimeoutError):
        await client.jetstream().account_info()
        return True
    return False
