"""`python -m tests.upgrade COMMIT`: COMMIT runs under load and is replaced by this working tree, service by service."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import click
import msgspec
import uvloop
from nats.aio.client import Client
from rich.console import Console
from rich.table import Table

from drover.bus.connection import connected
from drover.embedded.nats import nats_server
from drover.embedded.postgres import postgres_server
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.testing.waiting import eventually
from tests.chaos.audit import Audit, audit
from tests.chaos.load import PHONES, Load
from tests.e2e.apart import Farm
from tests.e2e.client import Http
from tests.e2e.process import DroverProcess, run_to_the_end
from tests.filled.log import DEVICES, fill_log
from tests.upgrade.reads import Reads
from tests.upgrade.versions import Version, of_commit, of_today

OUT = Path("build/upgrade.json")
EVENTS = 300_000
SILENCE_S_MAX = 15.0
"""A fail-over: a lease lapses after 10 s, and a standby notices within 2 s."""
STEADY_S = 5.0
PATIENCE_S = 600.0
MAKE_STREAMS = """
import asyncio, sys
from drover.bus.connection import connected
from drover.domain.contexts import CONTEXTS
from drover.writer.nats_writer import prepare

async def make(url):
    async with connected(url, "upgrade") as client:
        await prepare(client, CONTEXTS)

asyncio.run(make(sys.argv[1]))
"""


class RollingFarm(Farm):
    """Services of two versions on the same servers."""

    ready_s = PATIENCE_S

    def __init__(self, nats, postgres, folder: Path) -> None:
        super().__init__(nats, postgres, folder)
        self.named: dict[str, DroverProcess] = {}

    async def start(self, version: Version, *services: str) -> DroverProcess:
        name = f"{services[0]}-{version.name}-{len(self.named)}"
        self.named[name] = await self.serve(*services, name=name, **version.environ)
        return self.named[name]

    async def stop(self, process: DroverProcess) -> None:
        process.send(signal.SIGTERM)
        assert await process.ended() == 0, process.tail()
        self.running.remove(process)

    def said(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))


class Play:
    def __init__(
        self, farm: RollingFarm, client: Client, console: Console, old: Version, new: Version, filled: int
    ) -> None:
        self.farm, self.client, self.old, self.new, self.filled = farm, client, old, new, filled
        self.load = Load()
        self.reads: Reads | None = None
        self.steps: list[tuple[str, float]] = []
        self._console = console
        self._stack = AsyncExitStack()
        self._edges: list[Http] = []

    async def edge(self, process: DroverProcess) -> Http:
        return await self._stack.enter_async_context(self.farm.calling(process))

    async def step(self, what: str, began: float) -> None:
        """Let everything run for a while, then note for how long nobody was answered since `began`."""
        await asyncio.sleep(STEADY_S)
        silence = self.load.silence_after(began)
        self.steps.append((what, round(silence, 2)))
        self._console.print(f"{what}: {time.monotonic() - began:.0f} s, nobody was answered for {silence:.1f} s")

    async def run(self) -> Audit:
        farm, old, new = self.farm, self.old, self.new
        async with self._stack:
            began = time.monotonic()
            schedulers = [await farm.start(old, "scheduler"), await farm.start(old, "scheduler")]
            projector = await farm.start(old, "projector")
            gateways = [await farm.start(old, "gateway"), await farm.start(old, "gateway")]
            api = await farm.start(old, "api")
            self._edges[:] = [await self.edge(gateway) for gateway in gateways]
            assert (await self._edges[0].register(*PHONES)).status == 201
            await eventually(self._all_projected, PATIENCE_S, every_s=1.0)
            self._console.print(f"{old.name} runs after {time.monotonic() - began:.0f} s")
            self.reads = Reads(self.load, known_before=DEVICES + len(PHONES))
            async with self.load.running(self.client, self._edges), self.reads.running(self._edges):
                await self.step("before", time.monotonic())

                code, said = await run_to_the_end(
                    "migrate", output=farm.folder / "migrate.log", environ=farm.environ | dict(new.environ)
                )
                assert code == 0, said
                began = time.monotonic()
                for before in schedulers:
                    await farm.start(new, "scheduler")
                    await farm.stop(before)
                await self.step("schedulers replaced", began)

                began = time.monotonic()
                await farm.start(new, "projector")
                fresh = [await farm.start(new, "gateway"), await farm.start(new, "gateway")]
                self._edges[:] = [await self.edge(gateway) for gateway in fresh]
                await asyncio.sleep(STEADY_S)  # requests to the old gateways end
                for before in gateways:
                    await farm.stop(before)
                await self.step("projector and gateways replaced", began)

                began = time.monotonic()
                await farm.start(new, "api")
                await farm.stop(api)
                await farm.stop(projector)
                await self.step("api replaced, old projector gone", began)
            result = await audit(self.client, self.load, filled=self.filled)
            await eventually(self._all_projected, PATIENCE_S, every_s=1.0)
        code, said = await run_to_the_end(
            "verify", output=farm.folder / "verify.log", environ=farm.environ | dict(new.environ)
        )
        if code:
            result.wrong.append(f"drover verify ended with {code}: {said}")
        result.complain("reads that were short", self.reads.short)
        result.complain("reads that failed", self.reads.failed)
        result.complain("processes that ended by themselves", _ended(farm))
        for what, silence in self.steps:
            if silence > SILENCE_S_MAX:
                result.wrong.append(f"{what}: nobody was answered for {silence} s, more than {SILENCE_S_MAX}")
        return result

    async def _all_projected(self) -> bool:
        count = {"Prefer": "count=exact"}
        answer = await self._edges[0].get("/rest/v1/devices?select=id&limit=1", headers=count)
        expected = DEVICES + len(PHONES) + len(self.load.acknowledged())
        return answer.status in (200, 206) and int(answer.headers["Content-Range"].rpartition("/")[2]) >= expected


def _ended(farm: RollingFarm) -> list[str]:
    return [name for name, process in farm.named.items() if process in farm.running and process.exit_code is not None]


@click.command(context_settings={"show_default": True})
@click.argument("before", metavar="COMMIT")
@click.option("--events", default=EVENTS, help="How many events the log has when the upgrade begins.")
@click.option("--keep", is_flag=True, help="Leave the folder with the logs.")
def main(before: str, events: int, keep: bool) -> None:
    """Replace the program of COMMIT by the working tree, service by service, under load."""
    sys.exit(uvloop.run(upgrade(before, events, keep)))


async def upgrade(before: str, events: int, keep: bool) -> int:
    folder, console = Path(tempfile.mkdtemp(prefix="drover-upgrade-")), Console(width=120)
    console.print(f"logs in {folder}")
    try:
        old, new = of_commit(before, folder / "old"), of_today()
        async with (
            nats_server(folder) as nats,
            postgres_server(folder) as postgres,
            connected(nats.url, "upgrade") as client,
        ):
            farm = RollingFarm(nats, postgres, folder)
            code, said = await run_to_the_end(
                "migrate", output=folder / "migrate.log", environ=farm.environ | dict(old.environ)
            )
            assert code == 0, said
            filled = await _fill(client, old, nats.url, events)
            play = Play(farm, client, console, old, new, filled)
            try:
                result = await play.run()
            finally:
                await asyncio.gather(*(process.end() for process in farm.running), return_exceptions=True)
        if "Traceback" in farm.said():
            result.wrong.append("a traceback in a log")
        return 0 if _tell(console, result, play) else 1
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


async def _fill(client: Client, old: Version, url: str, events: int) -> int:
    """Make the streams as the old version makes them, and fill the fleet's. Return its last commit."""
    making = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MAKE_STREAMS, url), env=os.environ | dict(old.environ)
    )
    assert await making.wait() == 0
    seq, _ = await fill_log(JetStreamLog(client, Partition("fleet")), events)
    return seq


def _tell(console: Console, result: Audit, play: Play) -> bool:
    acknowledged, reads = play.load.acknowledged(), play.reads
    assert reads is not None
    table = Table("what", "figure")
    table.add_row("commands acknowledged", f"{len(acknowledged):,}")
    table.add_row("of them after a repeat", f"{sum(sent.tries > 1 for sent in acknowledged):,}")
    table.add_row("the longest one took", f"{max(sent.ended - sent.began for sent in acknowledged):.1f} s")
    table.add_row("heartbeats not answered", f"{play.load.beats_failed:,}")
    table.add_row("reads, of them behind, short, failed", _numbers(reads))
    table.add_row("commits, events, terms of the fleet", f"{result.commits:,}, {result.events:,}, {result.terms}")
    for what, silence in play.steps:
        table.add_row(what, f"nobody answered for {silence:.1f} s")
    console.print(table)
    for complaint in result.wrong:
        console.print(f"[red]WRONG[/] {complaint}")
    OUT.parent.mkdir(exist_ok=True)
    figures = {"acknowledged": len(acknowledged), "reads": reads.done, "steps": play.steps, "wrong": result.wrong}
    OUT.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=2) + b"\n")
    if not result.wrong:
        console.print("[green]nothing lost, nothing twice, no read was short[/]")
    return not result.wrong


def _numbers(reads: Reads) -> str:
    return ", ".join(f"{number:,}" for number in (reads.done, reads.behind, len(reads.short), len(reads.failed)))


if __name__ == "__main__":
    main()
