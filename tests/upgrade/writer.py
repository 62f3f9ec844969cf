"""The writer of the fleet, of whichever release is on PYTHONPATH. It uses only what both releases have."""

from __future__ import annotations

import asyncio
import signal
import sys

import uvloop

from drover.bus.connection import connected
from drover.domain.fleet import FLEET
from drover.writer.nats_writer import nats_writer, prepare

SNAPSHOT_EVERY_EVENTS = 500


async def main(url: str, name: str) -> None:
    async with connected(url, name) as client:
        await prepare(client, ("fleet",))
        writer = nats_writer(client, FLEET, instance=name)
        snapshotter = writer._snapshotter
        snapshotter._every = SNAPSHOT_EVERY_EVENTS  # the play is short
        load = snapshotter.load

        async def tell_load():
            fold = await load()
            print(f"began {fold.seq if fold else 0}", flush=True)
            return fold

        snapshotter.load = tell_load
        stopping = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
        async with writer.running():
            while writer.state is None:
                await asyncio.sleep(0.01)
            print("ready", flush=True)
            telling = asyncio.create_task(tell_leading(writer))
            await stopping.wait()
            telling.cancel()


async def tell_leading(writer) -> None:
    await writer.leading.wait()
    print("leading", flush=True)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
