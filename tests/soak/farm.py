"""The platform as in production, each service in a process of its own, and a simulated farm that works on it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from drover.embedded.credentials import Credentials
from drover.embedded.nats import nats_server
from drover.embedded.postgres import postgres_server
from drover.service.api_keys import Role, issue_api_key
from drover.testing.waiting import eventually
from tests.e2e.client import calling
from tests.e2e.process import DroverProcess, free_port, run_to_the_end
from tests.e2e.up import ready
from tests.soak.usage import Usage

SECRET = "a secret of the soak tests and long enough to be one"
STOP_S = 120.0


class SoakFarm:
    def __init__(self, folder: Path, nats, postgres, usage: Usage) -> None:
        self.folder, self.nats, self.postgres, self.usage = folder, nats, postgres, usage
        self.running: list[DroverProcess] = []
        self.environ = {
            "DROVER_NATS_URL": nats.url,
            "DROVER_NATS_SYSTEM_URL": nats.system_url,
            "DROVER_POSTGRES_URL": postgres.dsn,
            "DROVER_JWT_SECRETS": SECRET,
            "DROVER_ANON": "agent",
            "DROVER_LOG_FORMAT": "console",
        }
        self.keys = {role: issue_api_key(SECRET, role, now_s=time.time()) for role in (Role.ANON, Role.SERVICE_ROLE)}
        self.simulator: subprocess.Popen[bytes] | None = None
        self.schedulers = 0

    async def migrate(self) -> None:
        code, said = await run_to_the_end("migrate", output=self.folder / "migrate.log", environ=self.environ)
        assert code == 0, said

    async def serve(self, *services: str, name: str, kind: str) -> DroverProcess:
        port = free_port()
        environ = self.environ | {"DROVER_HTTP_PORT": str(port), "DROVER_INSTANCE": name}
        process = DroverProcess("serve", *services, output=self.folder / f"{name}.log", environ=environ)
        process.url = f"http://127.0.0.1:{port}"
        process.name = name
        self.running.append(process)
        self.usage.watch(kind, process.pid)
        await ready(process, process.url)
        return process

    async def scheduler(self) -> DroverProcess:
        self.schedulers += 1
        return await self.serve("scheduler", name=f"scheduler-{self.schedulers}", kind="schedulers")

    def calling(self, process: DroverProcess):
        return calling(process.url, self.keys[Role.ANON], self.keys[Role.SERVICE_ROLE])

    def start_simulator(self, url: str, *options: str) -> None:
        keys = Credentials(
            url, self.keys[Role.ANON], self.keys[Role.SERVICE_ROLE], "", "", "", self.nats.url, self.postgres.dsn
        )
        (self.folder / "credentials.json").write_bytes(msgspec.json.encode(keys))
        log = (self.folder / "simulator.log").open("ab")
        self.simulator = subprocess.Popen(
            [sys.executable, "-m", "drover.simulator", "--url", url, "--data-dir", str(self.folder), *options],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ},
        )
        self.usage.watch("simulator", self.simulator.pid)

    async def stop_writing(self, but: DroverProcess) -> None:
        """Phones that are gone would be taken offline: from now on nothing more is recorded."""
        for process in [process for process in self.running if process is not but]:
            await process.end()

    def said(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))

    async def stop_simulator(self) -> None:
        simulator = self.simulator
        if simulator is None or simulator.poll() is not None:
            return
        simulator.send_signal(signal.SIGTERM)
        try:
            await eventually(lambda: simulator.poll() is not None, STOP_S)
        finally:
            if simulator.poll() is None:
                simulator.kill()
                simulator.wait()


@asynccontextmanager
async def soak_farm(folder: Path, usage: Usage):
    async with nats_server(folder / "servers") as nats, postgres_server(folder / "servers") as postgres:
        farm = SoakFarm(folder, nats, postgres, usage)
        for child in psutil_children():
            usage.watch("nats and postgres", child)
        await farm.migrate()
        try:
            yield farm
        finally:
            await farm.stop_simulator()
            await asyncio.gather(*(process.end() for process in farm.running), return_exceptions=True)


def psutil_children() -> list[int]:
    import psutil

    return [child.pid for child in psutil.Process().children()]
