"""`python -m tests.chaos`: NATS nodes and leaders die one after the other under a load; then an audit."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import click
import msgspec
import uvloop
from nats.aio.client import Client
from rich.console import Console
from rich.table import Table

from drover.bus.connection import connected
from drover.testing.waiting import eventually
from tests.chaos.audit import Audit, audit
from tests.chaos.cluster import Cluster, running_cluster
from tests.chaos.load import PHONES, Load, edges_of
from tests.chaos.platform import GROUPS, ChaosFarm, running_farm

OUT = Path("build/chaos.json")
STREAM = "FLEET"
STREAMS = (STREAM, "KV_drover_leases", "SNAPSHOTS")
SILENCE_S_MAX = 15.0
STEADY_S = 8.0
"""How long everything works undisturbed after each blow."""
PAUSED_S = 20.0
BACK_S = 60.0


class Blow(msgspec.Struct):
    """What was done, and for how long nobody was answered then."""

    what: str
    silence_s: float


class Scene:
    def __init__(self, cluster: Cluster, farm: ChaosFarm, client: Client, load: Load, console: Console) -> None:
        self.cluster, self.farm, self.client, self.load = cluster, farm, client, load
        self.blows: list[Blow] = []
        self._console = console

    async def strike(self, what: str, blow: Callable[[], Awaitable[None]]) -> None:
        began = time.monotonic()
        await blow()
        await self._goes_on(began)
        await asyncio.sleep(STEADY_S)
        silence = self.load.silence_after(began)
        self.blows.append(Blow(what, round(silence, 2)))
        self._console.print(f"{what}: nobody was answered for {silence:.1f} s")

    async def _goes_on(self, moment: float) -> None:
        """A command that was begun after the blow has been acknowledged."""

        def acknowledged() -> bool:
            assert not self.load.refused(), self.load.refused()
            return any(sent.began > moment and sent.acknowledged for sent in self.load.sent)

        await eventually(acknowledged, BACK_S, every_s=0.1)

    async def caught_up(self) -> None:
        for stream in STREAMS:
            await eventually(lambda: self.cluster.caught_up(self.client, stream), BACK_S, every_s=0.5)  # noqa: B023

    async def fleet_leader(self) -> str:
        async with self.farm.calling(self.farm.pair("api")[0]) as office:
            return (await eventually(office.fleet, every_s=0.5))["leader"]

    async def read_models_caught_up(self) -> None:
        async with self.farm.calling(self.farm.pair("api")[0]) as office:

            async def nothing_behind() -> bool:
                return (await office.fleet())["behind"] == 0

            await eventually(nothing_behind, BACK_S, every_s=0.5)

    async def walk(self) -> None:
        cluster, client = self.cluster, self.client
        follower = await cluster.follower(client, STREAM)
        await self.strike(f"kill -9 of {follower.name}, a follower", follower.kill)
        await follower.start()
        await self.caught_up()

        leader = await cluster.leader(client, STREAM)
        await self.strike(f"kill -9 of {leader.name}, which leads the stream", leader.kill)
        scheduler = await self.fleet_leader()
        await self.strike(f"kill -9 of {scheduler}, which leads the fleet", lambda: self.farm.kill(scheduler))
        await asyncio.gather(leader.start(), self.farm.start(GROUPS[0], "c"))
        await self.caught_up()

        leader = await cluster.leader(client, STREAM)
        scheduler = await self.fleet_leader()

        async def both() -> None:
            await asyncio.gather(leader.kill(), self.farm.kill(scheduler))

        await self.strike(f"kill -9 of {leader.name} and {scheduler} at once", both)
        await asyncio.gather(leader.start(), self.farm.start(GROUPS[0], "d"))
        await self.caught_up()

        leader = await cluster.leader(client, STREAM)

        async def pause() -> None:
            with leader.paused():
                await asyncio.sleep(PAUSED_S)

        await self.strike(f"{leader.name}, which leads the stream, hangs for {PAUSED_S:.0f} s", pause)
        await self.caught_up()

        leader = await cluster.leader(client, STREAM)
        await self.strike(f"{leader.name}, which leads the stream, is stopped in good order", leader.stop)
        await leader.start()
        await self.caught_up()


@click.command(context_settings={"show_default": True})
@click.option("--keep", is_flag=True, help="Leave the folder with the logs.")
def main(keep: bool) -> None:
    sys.exit(uvloop.run(chaos(keep)))


async def chaos(keep: bool) -> int:
    folder, console = Path(tempfile.mkdtemp(prefix="drover-chaos-")), Console(width=120)
    console.print(f"logs in {folder}")
    try:
        async with running_cluster(folder) as cluster, running_farm(cluster, folder) as farm:
            console.print(f"{len(cluster.nodes)} nodes, {len(farm.named)} processes")
            load = Load()
            async with connected(cluster.url, "chaos") as client, edges_of(farm) as edges:
                assert (await edges[0].register(*PHONES)).status == 201
                scene = Scene(cluster, farm, client, load, console)
                async with load.running(client, edges):
                    await eventually(lambda: load.acknowledged())
                    await scene.walk()
                result = await audit(client, load)
                await scene.read_models_caught_up()
            code, said = await farm.verify()
            if code:
                result.wrong.append(f"drover verify ended with {code}: {said}")
            ended = [name for name, process in farm.named.items() if process.exit_code is not None]
            result.complain("processes that ended by themselves", ended)
        if "Traceback" in farm.said():
            result.wrong.append("a traceback in a log")
        return 0 if _tell(console, result, load, scene.blows) else 1
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _tell(console: Console, result: Audit, load: Load, blows: list[Blow]) -> bool:
    for blow in blows:
        if blow.silence_s > SILENCE_S_MAX:
            result.wrong.append(f"{blow.what}: nobody was answered for {blow.silence_s} s, more than {SILENCE_S_MAX}")
    acknowledged = load.acknowledged()
    table = Table("what", "figure")
    table.add_row("commands acknowledged", f"{len(acknowledged):,}")
    table.add_row("of them after a repeat", f"{sum(sent.tries > 1 for sent in acknowledged):,}")
    table.add_row("the longest one took", f"{max(sent.ended - sent.began for sent in acknowledged):.1f} s")
    table.add_row("heartbeats not answered", f"{load.beats_failed:,}")
    table.add_row("commits, events, terms of the fleet", f"{result.commits:,}, {result.events:,}, {result.terms}")
    for blow in blows:
        table.add_row(blow.what, f"silent for {blow.silence_s:.1f} s")
    console.print(table)
    for complaint in result.wrong:
        console.print(f"[red]WRONG[/] {complaint}")
    OUT.parent.mkdir(exist_ok=True)
    figures = {"acknowledged": len(acknowledged), "blows": blows, "events": result.events, "wrong": result.wrong}
    OUT.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=2) + b"\n")
    if not result.wrong:
        console.print("[green]nothing lost, nothing twice, every table as the log says[/]")
    return not result.wrong


if __name__ == "__main__":
    main()
