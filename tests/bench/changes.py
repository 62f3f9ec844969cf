"""A farm that changes at a given rate: real commands over the bus, real events in the log. No phones and no HTTP."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import islice
from random import Random
from time import time
from typing import NamedTuple
from uuid import UUID

from nats.aio.client import Client

from drover.bus.client import CommandBus
from drover.bus.messages import Accepted, Outcome
from drover.bus.telemetry import TelemetryOut
from drover.domain.fleet import FLEET
from drover.domain.fleet import commands as c
from drover.domain.fleet import events as e
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.service.tasks import end
from drover.testing.waiting import eventually

PCS = 500
PER_PC = 20
CAPACITY = 10
"""Half of a PC's phones at once: every end is followed by an offer to another one, and the job goes on for minutes."""
BEAT_EVERY_S = 10
TICK_S = 0.02
AHEAD_MAX = 400
"""Commands on their way; a writer that does not keep up is not buried."""
PROGRESS_STEP = 10
OVER = 2 + 100 // PROGRESS_STEP
"""Steps of an attempt: sent, begun, nine reports of progress, done."""
FAILING_ONE_IN = 50
SETTLE_S = 180.0
READY_SHARE = 0.95
"""Of the slots, in the middle of something."""


class Change(NamedTuple):
    """What one event makes of a device, as a screen shows it."""

    device_id: str
    at: datetime
    phase: str
    progress: int
    seq: int = 0
    """Of its commit."""
    logged_ms: float = 0.0
    """When a reader of the log had it."""


class Attempt:
    """One run of an assignment, as far as this farm has asked for it."""

    def __init__(self, number: int, event: e.AttemptCreated) -> None:
        self.assignment_id, self.run = event.assignment_id, event.run
        self.step = 0
        self.fails = number % FAILING_ONE_IN == 7 and event.attempt == 1

    def next(self) -> c.FleetCommand:
        self.step += 1
        if self.step == 1:
            return c.SendAttempt(self.assignment_id, self.run)
        progress = (self.step - 2) * PROGRESS_STEP
        if self.fails and progress >= 50:
            self.step = OVER
            return c.ReportFailed(self.assignment_id, self.run, error_code="REQUEST_TIMEOUT")
        if progress < 100:
            return c.ReportRunning(self.assignment_id, self.run, progress_pct=progress)
        return c.ReportCompleted(self.assignment_id, self.run, progress_pct=100, actual_duration_sec=60)

    @property
    def is_over(self) -> bool:
        return self.step >= OVER


class Farm:
    def __init__(self, client: Client, *, pcs: int = PCS) -> None:
        self._client = client
        self._bus = CommandBus(client)
        self._pcs = pcs
        self.devices = [str(UUID(int=0x7000 << 64 | 0x8 << 60 | number)) for number in range(pcs * PER_PC)]
        self.online = 0
        self.events = 0
        self.changes: list[Change] | None = None
        """While somebody wants to know."""
        self._attempts: deque[Attempt] = deque()
        self._seen = 0
        self._on_the_way = 0
        self.refused = 0

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """Every phone is heard every ten seconds; what happens is followed in the log."""
        telemetry = TelemetryOut(self._client, "fleet", "bench")
        following = asyncio.create_task(self._follow())
        beating = asyncio.create_task(self._beat(telemetry))
        try:
            async with telemetry.running():
                yield
        finally:
            await end(following, beating)

    async def fill(self) -> None:
        """PCs, phones that are all online, and a job that runs on half of them, each at another point of its way."""
        await self._all(c.RegisterPc(f"PC-{pc:04d}", CAPACITY) for pc in range(self._pcs))
        await self._all(
            c.RegisterDevice(device, f"SERIAL{n:08d}", f"P{n // PER_PC}-G{n % 4}", f"PC-{n // PER_PC:04d}")
            for n, device in enumerate(self.devices)
        )
        await eventually(lambda: self.online >= len(self.devices), SETTLE_S, every_s=0.2)
        job = c.CreateJob(
            "https://youtu.be/bench", "What everybody watches", job_id=str(UUID(int=0x7001 << 64 | 0x8 << 60))
        )
        await self._all([job])
        await eventually(lambda: self._seen >= self._pcs * CAPACITY * READY_SHARE, SETTLE_S, every_s=0.2)
        for number, attempt in enumerate(list(self._attempts)):
            for _ in range(number % 10):
                self._advance(attempt)
            if number % AHEAD_MAX == 0:
                await eventually(lambda: self._on_the_way == 0, SETTLE_S)
        under_way = [attempt for attempt in self._attempts if not attempt.is_over]
        Random(len(under_way)).shuffle(under_way)  # else rack after rack would change, and not all of them
        self._attempts = deque(under_way)

    async def order(self, jobs: int) -> None:
        """So many jobs that wait behind the one that runs, and as many that were cancelled."""
        ids = [str(UUID(int=0x7002 << 64 | 0x8 << 60 | number)) for number in range(2 * jobs)]
        for number, job_id in enumerate(ids):
            await self._all([c.CreateJob("https://youtu.be/bench", f"Order {number}", job_id=job_id)])
        await self._all(c.CancelJob(job_id) for job_id in ids[::2])

    @asynccontextmanager
    async def changing(self, rate: float) -> AsyncIterator[None]:
        """So many commands a second, one event each or a few more, evenly over all attempts."""
        task = asyncio.create_task(self._change(rate))
        try:
            yield
        finally:
            await end(task)
            await eventually(lambda: self._on_the_way == 0, SETTLE_S)

    async def _change(self, rate: float) -> None:
        loop = asyncio.get_running_loop()
        started, sent = loop.time(), 0
        while True:
            due = int((loop.time() - started) * rate)
            if due - sent > rate:
                sent = due - int(rate)  # what could not be done for a second is not made up for
            while sent < due and self._attempts and self._on_the_way < AHEAD_MAX:
                attempt = self._attempts.popleft()
                if attempt.is_over:
                    continue
                self._advance(attempt)
                self._attempts.append(attempt)
                sent += 1
            await asyncio.sleep(TICK_S)

    async def _all(self, commands: Iterable[c.FleetCommand]) -> None:
        for some in batched(commands, AHEAD_MAX):
            outcomes = await asyncio.gather(*(self._bus.send("fleet", command, by="bench") for command in some))
            refused = [outcome for outcome in outcomes if not isinstance(outcome, Accepted)]
            assert not refused, refused[0]

    def _advance(self, attempt: Attempt) -> None:
        def answered(future: asyncio.Future[Outcome]) -> None:
            self._on_the_way -= 1
            if not future.cancelled() and not isinstance(future.result(), Accepted):
                self.refused += 1
                attempt.step = OVER  # on a machine that is too slow for it, an offer may have lapsed

        self._on_the_way += 1
        self._bus.send("fleet", attempt.next(), by="bench").add_done_callback(answered)

    async def _beat(self, telemetry: TelemetryOut) -> None:
        turn = 0
        while True:
            now = datetime.now(UTC)
            for device in self.devices[turn::BEAT_EVERY_S]:
                telemetry.beat(device, now, {"status": "online"})
            turn = (turn + 1) % BEAT_EVERY_S
            await asyncio.sleep(1.0)

    async def _follow(self) -> None:
        codec = Codec.of(FLEET)
        async with JetStreamLog(self._client, Partition("fleet")).read(0) as reader:
            while True:
                for commit in await reader.next():
                    now_ms = time() * 1000
                    for event in codec.decode(commit.payload):
                        self._see(event, commit.seq, now_ms)

    def _see(self, event: object, seq: int, now_ms: float) -> None:
        self.events += 1
        if isinstance(event, e.DeviceCameOnline):
            self.online += 1
        elif isinstance(event, e.AttemptCreated):
            self._seen += 1
            self._attempts.append(Attempt(self._seen, event))
        if self.changes is not None and (change := shown(event)) is not None:
            self.changes.append(change._replace(seq=seq, logged_ms=now_ms))


def batched(commands: Iterable[c.FleetCommand], size: int) -> Iterator[list[c.FleetCommand]]:
    rest = iter(commands)
    while some := list(islice(rest, size)):
        yield some


def shown(event: object) -> Change | None:
    """What the phone in its rack shows of it; None: nothing, or it is not said so simply."""
    match event:
        case e.AttemptCreated():
            return Change(event.device_id, event.at, "offered", 0)
        case e.AttemptSent():
            return Change(event.device_id, event.at, "sent", 0)
        case e.AttemptStarted() | e.AttemptProgressed():
            return Change(event.device_id, event.at, "running", event.progress_pct)
        case e.AttemptSucceeded():
            return Change(event.device_id, event.at, "", 0)
    return None
