"""A writer in a process of its own, for tests that stop, pause or kill it. It prints `ready` and `leading`.

`--without` takes a protection away (controls). `--next` runs the next release, whose state has another form.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Callable
from typing import Any

import uvloop

from drover.bus.connection import connected
from drover.eventlog import jetstream
from drover.service.tasks import in_background
from drover.writer import idempotency
from drover.writer.nats_lease import LeaseTimes
from drover.writer.nats_writer import nats_writer
from drover.writer.writer import Writer
from tests.integration.writer.bank import bank, next_bank


def short_lease(ttl_s: float) -> LeaseTimes:
    return LeaseTimes(ttl_s=ttl_s, renew_every_s=ttl_s / 4, safety_s=ttl_s / 4, poll_every_s=0.1)


def take_away(protection: str, replace: Callable[[type, str, Any], None] = setattr) -> None:
    if protection == "fence":

        async def append_anywhere(self, commit, expected):
            headers = {jetstream.COMMIT_HEADER: commit.id, jetstream.EPOCH_HEADER: str(commit.epoch)}
            while not isinstance(seq := await self._publish(commit, headers), int):
                await asyncio.sleep(0.05)
            return seq

        replace(jetstream.JetStreamLog, "append", append_anywhere)
    elif protection == "idempotency":
        replace(idempotency.Remembered, "absorb", lambda self, at, ids: None)


async def tell(writer: Writer[Any]) -> None:
    await writer.loaded.wait()
    print("ready", flush=True)
    await writer.leading.wait()
    print("leading", flush=True)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("context")
    parser.add_argument("instance")
    parser.add_argument("--without", choices=["fence", "idempotency"])
    parser.add_argument("--next", action="store_true")
    parser.add_argument("--ttl", type=float, default=2)
    options = parser.parse_args()
    if options.without:
        take_away(options.without)
    async with connected(options.url, options.instance) as client:
        decider = next_bank(options.context) if options.next else bank(options.context)
        writer = nats_writer(client, decider, instance=options.instance, lease_times=short_lease(options.ttl))
        stopping = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
        async with writer.running(), in_background(tell(writer)):
            failing = asyncio.ensure_future(writer.wait_failed())
            asked = asyncio.ensure_future(stopping.wait())
            await asyncio.wait((failing, asked), return_when=asyncio.FIRST_COMPLETED)
            if failing.done():
                await failing


if __name__ == "__main__":
    uvloop.run(main())
