"""Writers of a bank on a simulated NATS, while lines break, writers die and the server restarts, as a seed decides.

Everything but the server is what production runs: nats-py, the log, the lease, the command bus. Time is virtual, so an
hour of faults takes seconds.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from contextlib import AsyncExitStack, suppress
from unittest.mock import patch

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Accepted
from drover.domain.errors import DroverError
from drover.eventlog.codec import Codec
from drover.eventlog.follow import follow
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.testing.faults import faulty_line
from drover.testing.simulated_nats.server import SimulatedNats
from drover.testing.simulated_network import SimulatedLoop, run_simulated
from drover.testing.virtual_time import LoopClock
from drover.testing.waiting import eventually
from drover.writer.nats_writer import nats_writer, prepare
from tests.integration.writer.bank import Deposit, Deposited, bank
from tests.integration.writer.writer_process import short_lease

CONTEXT = "bank"
WRITERS = 2
CALLERS = 8
CALL_EVERY_S = 0.1
LATENCY_S = 0.002
LEASE_S = 2.0
RESTART_S = 1.0
QUIET_S = 5.0


class Machine:
    """A writer behind a line of its own. It starts again whenever it has died."""

    def __init__(self, server, name):
        self.line = None
        self._server = server
        self._name = name
        self._running = None
        self.writer = None

    async def run(self):
        while True:
            self._running = asyncio.create_task(self._live())
            with suppress(DroverError, asyncio.CancelledError):
                await asyncio.shield(self._running)
            if not self._running.done():
                self._running.cancel()  # the machine itself is stopped
                await asyncio.wait([self._running])
                return
            await asyncio.sleep(RESTART_S)

    async def _live(self):
        async with AsyncExitStack() as stack:
            self.line = await stack.enter_async_context(faulty_line("127.0.0.1", self._server.port))
            url = self._server.url.replace(str(self._server.port), str(self.line.port))
            client = await stack.enter_async_context(connected(url, self._name))
            clock = LoopClock(asyncio.get_running_loop())
            lease_times = short_lease(LEASE_S)
            writer = nats_writer(client, bank(CONTEXT), instance=self._name, lease_times=lease_times, clock=clock)
            self.writer = await stack.enter_async_context(writer.running())
            await writer.wait_failed()

    @property
    def leads(self):
        return self.writer is not None and self.writer.leading.is_set()

    def kill(self):
        """End it as SIGKILL does: nothing that it does while it ends reaches the server."""
        self.line.refuse()
        self._running.cancel()

    def lose_the_next_acknowledgement(self):
        cuts = self.line.cuts
        self.line.cut_from_server = lambda data: 0 if b'"seq":' in data and self.line.cuts == cuts else None

    def lose_the_next_commit(self):
        cuts = self.line.cuts
        self.line.cut_to_server = lambda data: 0 if b"Drover-Commit" in data and self.line.cuts == cuts else None


class World:
    """The machines, their callers, and what the callers were told."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loop = asyncio.get_running_loop()
        assert isinstance(self.loop, SimulatedLoop)
        self.server = SimulatedNats(self.loop, seed=seed)
        self.machines = [Machine(self.server, f"w{number}") for number in range(WRITERS)]
        self.sent = 0
        self.acknowledged = []
        self.faults = Counter()
        self.starved = False

    async def call(self, bus):
        while True:
            self.sent += 1
            token = f"t{self.sent}"
            outcome = await bus.send(CONTEXT, Deposit(token), by="caller", id=token)
            if isinstance(outcome, Accepted):
                self.acknowledged.append(token)
            await asyncio.sleep(self.random.uniform(0, CALL_EVERY_S))

    async def fault(self):
        """One fault, at a machine or at the server."""
        machine = self.random.choice([one for one in self.machines if one.leads] or self.machines)
        kinds = ["lost ack", "lost commit", "partition", "slow", "kill", "restart"]
        kind = self.random.choice(kinds)
        self.faults[kind] += 1
        if kind == "restart":
            await self.server.restart()
        elif machine.line is None:
            return
        elif kind == "kill":
            machine.kill()
        elif kind == "lost ack":
            machine.lose_the_next_acknowledgement()
        elif kind == "lost commit":
            machine.lose_the_next_commit()
        else:
            line, for_s = machine.line, self.random.uniform(0.1, 3 * LEASE_S)
            line.hold() if kind == "partition" else setattr(line, "delay_s", self.random.uniform(0.01, 0.5))
            await asyncio.sleep(for_s)
            line.resume()
            line.delay_s = 0.0

    async def run(self, faults):
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.server.running())
            client = await stack.enter_async_context(connected(self.server.url, "callers"))
            await prepare(client, (CONTEXT,))
            bus = CommandBus(client)
            working = [asyncio.create_task(machine.run()) for machine in self.machines]
            calling = [asyncio.create_task(self.call(bus)) for _ in range(CALLERS)]
            for _ in range(faults):
                await asyncio.sleep(self.random.uniform(0, QUIET_S))
                await self.fault()
            aim = len(self.acknowledged) + CALLERS
            with suppress(TimeoutError):
                await eventually(lambda: len(self.acknowledged) >= aim)
            self.starved = len(self.acknowledged) < aim
            for task in (*calling, *working):
                task.cancel()
            await asyncio.wait([*calling, *working])
            return await history(client)


async def history(client):
    """All commits of the log, with their events."""
    log, codec, found = JetStreamLog(client, Partition(CONTEXT)), Codec(bank(CONTEXT).events), []
    last = await log.last()
    await follow(log, 0, lambda one: found.append((one.epoch, codec.decode(one.payload))), until=last.seq)
    return found


def broken_promises(world, commits):
    """What the log or the callers show that must never be."""
    epochs = [epoch for epoch, _ in commits]
    events = [event for _, found in commits for event in found]
    deposits = Counter(event.token for event in events if isinstance(event, Deposited))
    found = {
        "acknowledged, but not in the log": [token for token in world.acknowledged if not deposits[token]],
        "in the log more than once": [token for token, times in deposits.items() if times > 1],
        "written by a leader of the past": [one for one, next_ in itertools.pairwise(epochs) if one > next_],
        "events out of order": [n for n, event in enumerate(events, start=1) if event.n != n][:5],
        "no answers after the last fault": world.starved,
    }
    return {promise: tokens for promise, tokens in found.items() if tokens}


class _LoopTime:
    """Stands in for the module `time` where code measures how much of it has passed."""

    def __init__(self, loop):
        self.monotonic = self.perf_counter = loop.time


def play(seed, faults):
    """Run one world to its end; return it and its log. The same seed gives the same history."""
    latency = random.Random(seed)

    async def main():
        world = World(seed)
        measured = _LoopTime(world.loop)
        with patch("nats.aio.client.time", measured), patch("drover.eventlog.follow.time", measured):
            return world, await world.run(faults)

    random.seed(seed)  # of the jitter in retries
    return run_simulated(main(), lambda: latency.uniform(0, LATENCY_S))
