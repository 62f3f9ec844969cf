"""`drover status`: prints leaders, positions of the log and of the read models, the fleet, and what is wrong."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from drover.api.leads import CONNECTED
from drover.api.status import PartitionStatus, PlatformStatus, StatusReader
from drover.cli.event_text import local
from drover.cli.exits import Exit
from drover.cli.following import while_somebody_reads
from drover.cli.output import console, print_json, printable
from drover.cli.running import asynchronous
from drover.cli.target import NAME, find_target, nats_of
from drover.domain.contexts import CONTEXTS
from drover.eventlog.quotas import FILLING
from drover.postgres.pool import open_pool

BEHIND_MAX: Final = 1_000
"""How many commits a read model may be behind before it counts as a problem. A projector applies them within
seconds."""
WATCH_EVERY_S: Final = 2.0
CONNECTIONS_MAX: Final = 1


@asynchronous
async def status(watch: bool, as_json: bool, data_dir: Path | None) -> Exit:
    target = find_target(data_dir)
    async with nats_of(target) as client, open_pool(target.postgres_url, NAME, CONNECTIONS_MAX) as pool:
        reader = StatusReader(client, pool, CONTEXTS)
        if watch:
            await while_somebody_reads(_watch(reader, as_json))
        found = await reader.read()
    if as_json:
        print_json(document(found))
    else:
        console().print(rendered(found))
    return Exit.DEGRADED if problems_of(found) else Exit.OK


async def _watch(reader: StatusReader, as_json: bool) -> None:
    """Print the status again and again until Ctrl-C. A terminal is redrawn in place; a pipe gets one report after the
    other."""
    screen = console()
    if as_json or not screen.is_terminal:
        while True:
            found = await reader.read()
            if as_json:
                print_json(document(found))
            else:
                screen.print(rendered(found))
            await asyncio.sleep(WATCH_EVERY_S)
    with Live(console=screen, auto_refresh=False, screen=False) as live:
        while True:
            live.update(rendered(await reader.read()), refresh=True)
            await asyncio.sleep(WATCH_EVERY_S)


def problems_of(status: PlatformStatus) -> list[str]:
    """List the problems of the platform, a sentence each; empty if it is healthy."""
    servers = (("NATS", status.nats), ("PostgreSQL", status.postgres))
    return [f"{name} is {state}." for name, state in servers if state != CONNECTED] + [
        problem for partition in status.partitions for problem in _problems_of(partition)
    ]


def _problems_of(partition: PartitionStatus) -> list[str]:
    name = f"{partition.context}/{partition.partition}"
    found = []
    if partition.refusal is not None:
        found.append(str(partition.refusal))
    if partition.log_full is not None and partition.log_full > FILLING:
        found.append(
            f"The log of {partition.context} is {partition.log_full:.0%} full; at its limit it is read-only. Raise the "
            "limit, or let DROVER_LOG_KEEP move old events to the archive: LogFilling in docs/runbook.md."
        )
    if partition.behind is not None and partition.behind > BEHIND_MAX:
        found.append(
            f"The read model of {name} is {partition.behind} commits behind the log. Is the projector running?"
        )
    return found


def _notes(partitions: list[PartitionStatus]) -> list[str]:
    """List what somebody should know although the platform is healthy."""
    return [
        f"The time of {found.context}/{found.partition} is {timedelta(seconds=round(found.ahead_s))} ahead of the "
        "clock: see PartitionTimeAhead in docs/runbook.md."
        for found in partitions
        if found.ahead_s
    ]


def document(status: PlatformStatus) -> dict[str, Any]:
    """Make the document that `status --json` prints."""
    problems = problems_of(status)
    return {"healthy": not problems, "problems": problems, **msgspec.structs.asdict(status)}


def rendered(status: PlatformStatus) -> RenderableType:
    problems = problems_of(status)
    verdict = Text("degraded", "bold red") if problems else Text("healthy", "bold green")
    head = Text.assemble(verdict, (f"   {local(status.at)}", "dim"))
    parts: list[RenderableType] = [head, _servers(status), Text()]
    if status.partitions:
        parts += [_partitions(status.partitions), Text()]
    parts.append(_devices(status.devices))
    parts += (Text(f"! {note}", "yellow") for note in _notes(status.partitions))
    if problems:
        parts += [Text(), *(Text(f"! {problem}", "red") for problem in problems)]
    return Group(*parts)


def _servers(status: PlatformStatus) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, state in (("NATS", status.nats), ("PostgreSQL", status.postgres)):
        table.add_row(Text(name, "dim"), Text(printable(state), "" if state == CONNECTED else "red"))
    return table


def _partitions(partitions: list[PartitionStatus]) -> Table:
    table = _table("partition", "leader", log="right", **{"read model": "right", "behind": "right"})
    for found in partitions:
        late = found.behind is None or found.behind > BEHIND_MAX
        table.add_row(
            f"{found.context}/{found.partition}",
            Text(printable(found.leader or "nobody"), "red" if found.refusal else ""),
            f"{found.log_seq}",
            _number(found.projected_seq),
            Text(_number(found.behind), "red" if late else ""),
        )
    return table


def _devices(devices: dict[str, int]) -> RenderableType:
    if not devices:
        return Text("no devices known", "dim")
    table = _table("status", devices="right")
    for name, count in sorted(devices.items()):
        table.add_row(printable(name), str(count))
    table.add_row(Text("all", "bold"), Text(str(sum(devices.values())), "bold"))
    return table


def _table(*left: str, **right: Any) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    for name in left:
        table.add_column(name, overflow="fold")
    for name, justify in right.items():
        table.add_column(name, justify=justify)
    return table


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)
