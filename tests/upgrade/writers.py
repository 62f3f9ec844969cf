"""`python -m tests.upgrade.writers COMMIT`: the fleet's writer at COMMIT under load, then this one, then COMMIT again.

Shows that each begins at a snapshot, that nothing acknowledged is lost, and how long commands waited.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import click
import uvloop
from nats.aio.client import Client

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Accepted
from drover.domain.fleet import FLEET
from drover.domain.fleet import commands as c
from drover.embedded.nats import nats_server
from drover.eventlog.follow import follow
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.writer.fold import Fold
from tests.e2e.process import ends_with_us
from tests.upgrade.versions import of_commit

HERE: Final = Path(__file__).parents[2]
PER_PC: Final = 20
DEVICES: Final = 1_200
"""Registered by each release: enough for two snapshots."""
WAIT_S: Final = 60.0
HAND_OVER_MAX_S: Final = 12.0
"""What a fail-over takes: the lease lapses, and a standby notices."""


class Release:
    """A process with the writer of one release."""

    def __init__(self, name: str, tree: Path) -> None:
        self.name = name
        self._tree = tree
        self._said: list[str] = []

    async def start(self, url: str) -> None:
        argv = [sys.executable, str(HERE / "tests/upgrade/writer.py"), url, self.name]
        path = os.pathsep.join(str(self._tree / part) for part in ("libs", "services"))
        self.process = await asyncio.create_subprocess_exec(
            *ends_with_us(argv),
            env={**os.environ, "PYTHONPATH": path},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self._said.append(line.decode().strip())

    async def says(self, word: str) -> str:
        """Wait for a line that begins with this word, and return it."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for line in self._said:
                    if line.startswith(word):
                        return line
                assert self.process.returncode is None, f"{self.name} ended: {self._said[-3:]}"
                await asyncio.sleep(0.01)

    async def stop(self) -> None:
        if self.process.returncode is None:
            self.process.terminate()
        await self.process.wait()


class Load:
    """Registers devices one after the other, and measures the longest wait."""

    def __init__(self, client: Client) -> None:
        self._bus = CommandBus(client)
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self.longest_s = 0.0

    async def run(self) -> None:
        number = 0
        while True:
            pc = f"PC-{number // PER_PC}"
            if number % PER_PC == 0:
                await self._bus.send("fleet", c.RegisterPc(pc, PER_PC), by="play", id=pc)
            id_ = f"00000000-0000-7000-8000-{number:012d}"
            command = c.RegisterDevice(id_, f"SERIAL{number:08d}", f"P{number // PER_PC}-G1", pc)
            began = time.perf_counter()
            outcome = await self._bus.send("fleet", command, by="play", id=id_)
            self.longest_s = max(self.longest_s, time.perf_counter() - began)
            if isinstance(outcome, Accepted):
                self.acknowledged.append(id_)
                number += 1
            else:
                self.refused.append(outcome.code)

    async def progress(self) -> None:
        aim = len(self.acknowledged) + DEVICES
        async with asyncio.timeout(WAIT_S):
            while len(self.acknowledged) < aim:
                await asyncio.sleep(0.01)


async def play(before: Path, folder: Path) -> bool:
    """Play the upgrade and the roll-back. Return whether all was as it should be."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(nats_server(folder / "nats"))
        client = await stack.enter_async_context(connected(server.url, "play"))
        load, good = Load(client), True
        serving: Release | None = None
        loading: asyncio.Task[None] | None = None
        for name, tree in (("before", before), ("now", HERE), ("rolled back", before)):
            release = Release(name, tree)
            await release.start(server.url)
            stack.push_async_callback(release.stop)
            began = int((await release.says("began")).split()[1])
            await release.says("ready")
            load.longest_s = 0.0
            if serving is not None:
                await serving.stop()
            await release.says("leading")
            loading = loading or asyncio.create_task(load.run())
            await load.progress()
            click.echo(f"{name}: began at the snapshot of position {began}; longest wait {load.longest_s:.2f} s")
            good &= load.longest_s < HAND_OVER_MAX_S and (began > 0 or serving is None)
            serving = release
        assert loading is not None
        loading.cancel()
        await asyncio.gather(loading, return_exceptions=True)
        lost = set(load.acknowledged) - await devices_in(client)
        click.echo(f"acknowledged {len(load.acknowledged)}, lost {len(lost)}, refused {len(load.refused)}")
        return good and not lost


async def devices_in(client: Client) -> set[str]:
    log = JetStreamLog(client, Partition("fleet"))
    last = await log.last()
    assert last is not None
    fold = Fold(FLEET)
    await follow(log, 0, fold.apply, until=last.seq)
    return set(fold.state.devices)


@click.command()
@click.argument("commit")
def main(commit: str) -> None:
    """Play an upgrade from COMMIT to the working tree, and back."""
    with tempfile.TemporaryDirectory() as folder:
        before = of_commit(commit, Path(folder, "before")).folder
        sys.exit(0 if uvloop.run(play(before, Path(folder))) else 1)


if __name__ == "__main__":
    main()
