"""`drover snapshots forget`: removes the snapshots of a context that belong to another log."""

from __future__ import annotations

from pathlib import Path

from drover.cli.exits import Exit
from drover.cli.output import console
from drover.cli.running import asynchronous
from drover.cli.target import find_target, nats_of
from drover.eventlog.snapshots import JetStreamSnapshots


@asynchronous
async def forget(context: str, data_dir: Path | None) -> Exit:
    async with nats_of(find_target(data_dir)) as client:
        await JetStreamSnapshots(client).forget(context)
    console().print(f"The snapshots of {context} are removed.")
    return Exit.OK
