"""`drover log replicas`: changes how many nodes hold each stream, and waits until all replicas are current."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from nats.aio.client import Client
from nats.errors import Error as NatsError
from rich.text import Text

from drover.cli.bar import bar
from drover.cli.exits import Exit
from drover.cli.output import console
from drover.cli.running import asynchronous
from drover.cli.target import find_target, nats_of
from drover.domain.contexts import CONTEXTS, SUBJECT_CONTEXTS
from drover.domain.errors import DroverError
from drover.eventlog import snapshots
from drover.eventlog.copies import Copies, copies_of, set_copies
from drover.eventlog.log import Partition
from drover.eventlog.subject_keys import stream_of as key_stream_of
from drover.notifier.ledger import BUCKET as NOTIFIER
from drover.web.key_bucket import BUCKET as KEYS
from drover.writer.nats_lease import BUCKET as LEASES

STREAMS: Final = (
    *(Partition(context).stream for context in CONTEXTS),
    snapshots.STREAM,
    f"KV_{LEASES}",
    *map(key_stream_of, SUBJECT_CONTEXTS),
    f"KV_{NOTIFIER}",
    f"KV_{KEYS}",
)
"""All streams that Drover keeps in NATS; buckets are streams, too. The last two exist once a notifier and an api have
run."""
LOOK_EVERY_S: Final = 0.5
STALLED_S: Final = 120.0
"""How long nothing may change before the wait for current replicas is given up."""


class ReplicasBehind(DroverError):
    """The replicas of some streams do not become current."""

    def __init__(self, behind: list[Copies]) -> None:
        self.behind = behind
        names = ", ".join(found.stream for found in behind)
        super().__init__(
            f"The replicas of {names} have not come closer for {STALLED_S:.0f} s. Their number is changed; look "
            "whether all nodes run, and run the command again to wait for them."
        )


@asynchronous
async def replicas(number: int, data_dir: Path | None) -> Exit:
    async with nats_of(find_target(data_dir)) as client:
        streams = await copies_of(client, STREAMS)
        for stream in streams:
            if stream.wanted != number or stream.damageable:
                await set_copies(client, stream.stream, number)
                change = "compression off" if stream.wanted == number else f"{stream.wanted} -> {number}"
                console().print(Text(f"{stream.stream}: {change}"))
        with bar("replicas") as progress:
            await wait_until_current(client, progress)
    said = f"{len(streams)} streams have {number} replicas each, all current"
    console().print(Text(said if number > 1 else f"{len(streams)} streams have one replica each", style="bold"))
    return Exit.OK


async def wait_until_current(client: Client, tell: Callable[[int, int], None]) -> None:
    """Wait until every replica has all of its stream. Raises ReplicasBehind."""
    loop = asyncio.get_running_loop()
    seen: list[Copies] | None = None
    changed_at = loop.time()
    while True:
        try:
            found = await copies_of(client, STREAMS)
        except (NatsError, OSError):
            found = seen or []  # a stream elects a leader anew; nobody answers meanwhile
        if found != seen:
            seen, changed_at = found, loop.time()
        behind = [copies for copies in found if not copies.are_current]
        tell(len(found) - len(behind), len(found))
        if found and not behind:
            return
        if loop.time() - changed_at > STALLED_S:
            raise ReplicasBehind(behind)
        await asyncio.sleep(LOOK_EVERY_S)
