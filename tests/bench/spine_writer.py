"""Committed commands: in this process, from another one over the bus, and one alone; against bare group commit."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from nats.aio.client import Client
from uuid_utils import uuid4, uuid7

from drover.bus.client import CommandBus
from drover.bus.commits import announcing_commits
from drover.bus.connection import connected
from drover.domain.decider import Command, Decider, Decision, Tick, accept
from drover.domain.event import Event, TermStarted
from drover.embedded.nats import nats_server
from drover.eventlog.bucket import ensure_bucket
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import MemorySnapshots
from drover.eventlog.streams import ensure_stream
from drover.service.process import tune_garbage_collection
from drover.writer.bus_intake import bus_intake
from drover.writer.clock import SystemClock
from drover.writer.nats_lease import BUCKET, NatsLease
from drover.writer.snapshots import Snapshotter
from drover.writer.writer import Writer
from tests.bench.report import Figure, at_least, at_most, side_by_side

CALLERS = 256
COMMANDS_PER_CALLER = 150
LONE = 400


class Counted(Event):
    """An event of about 200 bytes, as the design's measurements used."""

    counter: str
    step: int
    note: str


class Count(Command):
    counter: str
    note: str


class Counters(msgspec.Struct):
    values: dict[str, int] = {}


def _decide(state: Counters, command: Count, now: datetime) -> Decision:
    return accept(Counted(command.counter, state.values.get(command.counter, 0) + 1, command.note))


def _evolve(state: Counters, event: Counted | TermStarted) -> Counters:
    if isinstance(event, Counted):
        state.values[event.counter] = event.step
    return state


COUNTERS = Decider(
    context="bench",
    initial=Counters,
    decide=_decide,
    evolve=_evolve,
    next_deadline=lambda state: None,
    commands=Count | Tick,
    events=Counted | TermStarted,
    state=Counters,
)
NOTE = "n" * 20


class BareGroupCommit:
    """The limit: gather, encode, publish with the same fence, answer. No decider, no idempotency, no lease."""

    def __init__(self, client: Client, subject: str) -> None:
        self._client = client
        self._subject = subject
        self._waiting: deque[tuple[Event, asyncio.Future[int]]] = deque()
        self._arrived = asyncio.Event()
        self._encoder = msgspec.json.Encoder()

    async def submit(self, event: Event) -> int:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((event, future))
        self._arrived.set()
        return await future

    async def run(self) -> None:
        seq = 0
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            batch = list(self._waiting)
            self._waiting.clear()
            payload = self._encoder.encode_lines([event for event, _ in batch])
            headers = {"Nats-Expected-Last-Subject-Sequence": str(seq), "Drover-Commit": str(uuid4())}
            reply = await self._client.request(self._subject, payload, timeout=10, headers=headers)
            seq = msgspec.json.decode(reply.data)["seq"]
            for _, future in batch:
                future.set_result(seq)


async def _many(call: Any) -> float:
    """Commands a second with CALLERS at once."""

    async def caller(name: str) -> None:
        for _ in range(COMMANDS_PER_CALLER):
            await call(name)

    started = time.perf_counter()
    await asyncio.gather(*(caller(f"counter-{i}") for i in range(CALLERS)))
    return CALLERS * COMMANDS_PER_CALLER / (time.perf_counter() - started)


async def _lone(call: Any) -> float:
    """Median milliseconds of a command with nobody else there."""
    took = []
    for _ in range(LONE):
        started = time.perf_counter()
        await call("alone")
        took.append(time.perf_counter() - started)
    return sorted(took)[LONE // 2] * 1000


@contextlib.asynccontextmanager
async def _writer(client: Client) -> AsyncIterator[Writer[Counters]]:
    partition = Partition("bench")
    await ensure_stream(client, "bench")
    await ensure_bucket(client, BUCKET)
    lease = NatsLease(client, partition, instance="bench", token=str(uuid7()), clock=SystemClock())
    writer = Writer(
        COUNTERS,
        JetStreamLog(client, partition),
        lease,
        Snapshotter(COUNTERS, partition, MemorySnapshots(), every_events=10**9),
        instance="bench",
        serve=bus_intake(client),
        committed=announcing_commits(client, partition.context, partition.name),
    )
    async with writer.running():
        await writer.leading.wait()
        yield writer


def _caller_process(url: str, pipe: Any) -> None:
    """Another process: measures whenever it is asked to, until it is told to stop."""

    async def main() -> None:
        tune_garbage_collection()  # as every process of Drover does
        async with connected(url, "bench-caller") as client:
            bus = CommandBus(client)

            async def send(name: str) -> None:
                outcome = await bus.send("bench", Count(name, NOTE), by="bench")
                assert outcome.position, outcome

            loop = asyncio.get_running_loop()
            while await loop.run_in_executor(None, pipe.recv):
                pipe.send(await _many(send))

    uvloop.run(main())


async def figures() -> list[Figure]:
    tune_garbage_collection()
    directory = Path(tempfile.mkdtemp(prefix="drover-bench-"))
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(nats_server(directory))
        client = await stack.enter_async_context(connected(server.url, "bench"))
        writer = await stack.enter_async_context(_writer(client))
        bare_client = await stack.enter_async_context(connected(server.url, "bench-bare"))
        await ensure_stream(bare_client, "bare")
        bare = BareGroupCommit(bare_client, "evt.bare.main")
        running = asyncio.create_task(bare.run())
        stack.callback(running.cancel)

        at = datetime.now(UTC)
        n = 0

        async def bare_call(name: str) -> None:
            nonlocal n
            n += 1
            await bare.submit(Counted(name, n, NOTE, n=n, at=at, by="bench", cause=str(uuid7())))

        async def local_call(name: str) -> None:
            await writer.submit(Count(name, NOTE), by="bench", id=str(uuid7()))

        async def publish(name: str) -> None:
            await bare_client.request("evt.bare.single", payload, timeout=10)

        payload = msgspec.json.encode(Counted("alone", 1, NOTE, n=1, at=at, by="bench", cause=str(uuid7())))
        results = []
        ours, limit = await side_by_side(lambda: _many(local_call), lambda: _many(bare_call))
        results.append(at_least("spine.commands_local", ours, limit, 0.6, "commands/s"))

        here, there = multiprocessing.get_context("spawn").Pipe()
        process = multiprocessing.get_context("spawn").Process(target=_caller_process, args=(server.url, there))
        process.start()
        try:

            async def over_the_bus() -> float:
                here.send(True)
                return await asyncio.get_running_loop().run_in_executor(None, here.recv)

            ours, limit = await side_by_side(over_the_bus, lambda: _many(bare_call))
            results.append(at_least("spine.commands_over_bus", ours, limit, 0.4, "commands/s"))
        finally:
            here.send(False)
            process.join(10)
        ours, limit = await side_by_side(lambda: _lone(local_call), lambda: _lone(publish))
        results.append(at_most("spine.lone_command_p50", ours, limit, 2.0, "ms"))
        return results
