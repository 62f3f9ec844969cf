"""`python -m tests.soak`: hundreds of PCs and thousands of phones at work, leaders killed under them, then an audit."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import click
import msgspec
import uvloop
from rich.console import Console
from rich.table import Table

from drover.simulator.population import Wiring
from drover.testing.waiting import eventually
from tests.soak.audit import Audit, audit, quantile
from tests.soak.farm import SoakFarm, soak_farm
from tests.soak.usage import Usage
from tests.soak.work import keep_jobs_waiting, register_pcs

OUT = Path("build/soak.json")
SETTLE_S = 15.0


@click.command(context_settings={"show_default": True})
@click.option("--pcs", default=500)
@click.option("--phones", default=20, help="On each PC.")
@click.option("--capacity", default=10, help="Of each PC. Below the number of its phones each end makes room.")
@click.option("--minutes", default=10.0, help="From when all phones are online.")
@click.option("--script", default="steady", help="How much goes wrong; see the simulator.")
@click.option("--transport", default="mixed", help="http, socket or mixed.")
@click.option("--http-every", default=10, help="Mixed: one PC in this many polls.")
@click.option("--gateways", default=1)
@click.option("--kills", default=2, help="How often the leading scheduler is killed (-9).")
@click.option("--keep", is_flag=True, help="Leave the folder with the logs.")
def main(**options) -> None:
    sys.exit(uvloop.run(soak(**options)))


async def soak(pcs, phones, capacity, minutes, script, transport, http_every, gateways, kills, keep) -> int:
    folder = Path(tempfile.mkdtemp(prefix="drover-soak-"))
    usage, console = Usage(), Console(width=120)
    ledger = folder / "ledger.json"
    console.print(f"logs in {folder}")
    try:
        async with soak_farm(folder, usage) as farm, usage.sampling():
            leader, standby = await farm.scheduler(), await farm.scheduler()
            # First the projector: gateways are ready once it has built their read models.
            reading = await farm.serve("projector", "api", name="reading", kind="projector and api")
            edges = [
                await farm.serve("gateway", name=f"gateway-{number}", kind="gateways") for number in range(gateways)
            ]
            options = ["--pcs", str(pcs), "--phones", str(phones), "--script", script, "--transport", transport]
            options += ["--http-every", str(http_every)]
            async with farm.calling(reading) as office, farm.calling(edges[0]) as edge:
                await register_pcs(edge, pcs, capacity)
                farm.start_simulator(edges[0].url, *options, "--jobs", "0", "--ledger", str(ledger))
                await _all_online(farm, office, pcs * phones, console)
                foreman = asyncio.create_task(keep_jobs_waiting(edge))
                began = time.monotonic()
                pauses = await _live(farm, office, minutes * 60, kills, [leader, standby], console)
                seconds = time.monotonic() - began
                foreman.cancel()
            await farm.stop_simulator()
            await farm.stop_writing(reading)
            console.print("farm stopped; auditing")
            result = await audit(farm.nats.url, farm.postgres.dsn, ledger, Wiring(transport, "pc", http_every))
            simulated = msgspec.json.decode(ledger.read_bytes())
            simulated.pop("runs")
            said = farm.said()
        _check_calm(result, script)
        if "Traceback" in said:
            result.wrong.append("a traceback in a log")
        ok = _tell(console, result, simulated, usage, seconds, pauses, pcs * phones)
        return 0 if ok else 1
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


async def _all_online(farm: SoakFarm, office, wanted: int, console: Console) -> None:
    async def online() -> bool:
        assert farm.simulator is not None
        assert farm.simulator.poll() is None, (farm.folder / "simulator.log").read_text()[-4000:]
        devices = (await office.get("/api/status")).json["devices"]
        return devices.get("online", 0) + devices.get("busy", 0) >= wanted

    started = time.monotonic()
    await eventually(online, 600, every_s=1.0)
    console.print(f"{wanted} phones online after {time.monotonic() - started:.0f} s")


async def _live(farm, office, seconds, kills, schedulers, console) -> list[float]:
    """Let it run; now and then kill the leader, and have a new standby. How long nobody answered, each time."""
    pauses = []
    step = seconds / (kills + 1)
    for number in range(kills + 1):
        await asyncio.sleep(step)
        if number == kills:
            break
        partition = await office.fleet()
        (leader,) = (process for process in schedulers if process.name == partition["leader"])
        schedulers.remove(leader)
        leader.send(signal.SIGKILL)
        killed = time.monotonic()

        async def taken_over() -> bool:
            return (await office.fleet())["leader"] not in (None, leader.name)  # noqa: B023

        await eventually(taken_over, 60)
        pauses.append(time.monotonic() - killed)
        console.print(f"killed {leader.name}; taken over after {pauses[-1]:.1f} s")
        farm.running.remove(leader)
        schedulers.append(await farm.scheduler())
    return pauses


def _check_calm(result: Audit, script: str) -> None:
    """Where no phone ever loses its network, nobody goes offline and no work is rolled back: not by a kill either."""
    if script in ("calm", "steady"):
        for name in ("DeviceWentOffline", "AttemptRolledBack"):
            if count := result.types.get(name, 0):
                result.wrong.append(f"{count} {name} although every phone was well")


def _tell(console, result, simulated, usage, seconds, pauses, phones) -> bool:
    table = Table("what", "figure")
    table.add_row("phones, minutes", f"{phones:,}, {seconds / 60:.1f}")
    table.add_row("commits, events, commands", f"{result.commits:,}, {result.events:,}, {result.commands:,}")
    table.add_row("commands a second", f"{result.commands / seconds:,.0f}")
    table.add_row("attempts sent", f"{result.types['AttemptSent']:,}")
    table.add_row("pauses at kills", ", ".join(f"{pause:.1f} s" for pause in pauses))
    offers = result.freed_to_offer_s
    p50, p99 = (round((quantile(offers, share) or 0) * 1000, 1) for share in (0.5, 0.99))
    table.add_row("freed slot to the next offer", f"{len(offers):,} times, p50 {p50} ms, p99 {p99} ms (bound 50 ms)")
    for name, latency in simulated["latencies"].items():
        table.add_row(name, json.dumps(latency))
    for name, cores, megabytes in usage.table(seconds):
        table.add_row(f"CPU, memory of {name}", f"{cores:.2f} cores, {megabytes:.0f} MB at most")
    table.add_row("events by type", ", ".join(f"{name} {count:,}" for name, count in result.types.most_common()))
    console.print(table)
    for complaint in result.wrong:
        console.print(f"[red]WRONG[/] {complaint}")
    OUT.parent.mkdir(exist_ok=True)
    figures = {
        "phones": phones,
        "seconds": seconds,
        "events": result.events,
        "commands": result.commands,
        "latencies": simulated["latencies"],
        "freed_to_offer_ms": {"count": len(offers), "p50": p50, "p99": p99},
        "usage": usage.table(seconds),
        "pauses_s": pauses,
        "wrong": result.wrong,
        "types": dict(result.types),
    }
    OUT.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=2))
    if not result.wrong:
        console.print("[green]nothing lost, nothing twice, every table as the log says[/]")
    return not result.wrong


if __name__ == "__main__":
    main()
