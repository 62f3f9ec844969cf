"""A million alarms in one process: memory, start from snapshots, and from due to dispatched at 1,000 due a second."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import psutil
import uvloop
from uuid_utils import uuid4

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.domain.event import TermStarted
from drover.domain.partitions import partition_names, partition_of
from drover.domain.reminder import REMINDER
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.domain.reminder.state import Alarm, Reminders, User, minute_of
from drover.domain.reminder.texts import pack
from drover.embedded.nats import nats_server
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.eventlog.snapshots import CHUNK_BYTES, JetStreamSnapshots
from drover.reminder.app import ReminderService
from drover.reminder.notification import Delivered, Notification
from drover.reminder.settings import ReminderSettings
from drover.service import logging
from drover.service.process import tune_garbage_collection
from drover.writer.fold import Fold, encode_image
from drover.writer.nats_writer import prepare
from drover.writer.snapshots import snapshot_version
from tests.bench.report import Figure, at_most
from tests.chunks import each, latest
from tests.settings import load

ALARMS = 1_000_000
ALARMS_PER_USER = 10
PARTITIONS = 4
DUE_PER_S = 1_000
DUE_FOR_S = 20
READY_S = 150
"""By then snapshots are made and loaded, and the first alarms are due."""
LEAD_S = 5
TITLE = "A page about something"
BODY = "the first words of the page that it is about, as its reader wrote them down; twice that, as pages go. "
TEXT_BYTES = len(TITLE) + len(BODY)

BYTES_PER_ALARM_BOUND = 800
P99_MS_BOUND = 100
START_BOUND = 12.0
"""Times the bare decoding of the same bytes."""
SIZES = (1_000, 30_000, 1_000_000)
GROWTH_BOUND = 2.5
"""A heap a thousand times as large is ten steps deeper, and none of it is in the cache."""
ROUNDS = 7
SENDINGS_PER_ROUND = 400


def states(alarms: int, first_due_s: int, names: tuple[str, ...]) -> dict[str, Reminders]:
    """Alarms spread over half a year, but for those of the measured seconds, which come first."""
    made: dict[str, tuple[dict[str, Alarm], dict[str, User]]] = {name: ({}, {}) for name in names}
    due = DUE_PER_S * DUE_FOR_S if alarms >= ALARMS else 0
    for number in range(alarms):
        user_id = f"user_{number % (alarms // ALARMS_PER_USER):08d}"
        pages, users = made[partition_of(user_id, names)]
        user = users.get(user_id) or users.setdefault(user_id, User(user_id, "Asia/Seoul"))
        # Each user's own at other minutes, as the rule has it.
        late_s = number // DUE_PER_S if number < due else DUE_FOR_S + 60 + number * 7_919 % (180 * 86_400)
        next_s = first_due_s + late_s
        page_id = f"0197f0a0-{number:08d}-7000-8000-000000000000"[:36]
        alarm = Alarm(page_id, user, pack(TITLE, BODY), next_s, next_s, 1, 1, immediate=False)
        pages[page_id] = alarm
        user.alarms += 1
        user.take(minute_of(next_s))
    return {name: Reminders(pages, users) for name, (pages, users) in made.items()}


def _save_snapshots(url: str, first_due_s: int) -> None:
    """Another process, so that what it takes to make them does not count: a log of one commit, and its snapshot."""

    async def main() -> None:
        gc.disable()
        names = partition_names(PARTITIONS)
        made = states(ALARMS, first_due_s, names)
        codec, version = Codec.of(REMINDER), snapshot_version(REMINDER)
        async with connected(url, "bench") as client:
            await prepare(client, ("reminder",), partitions={"reminder": PARTITIONS})
            for name in names:
                partition, now = Partition("reminder", name), datetime.now(UTC)
                term = TermStarted(1, "bench", n=1, at=now, by="writer:bench", cause=str(uuid4()))
                commit = Commit(str(uuid4()), 1, codec.encode([term]))
                fold: Fold[Reminders] = Fold(REMINDER)
                fold.seq, fold.commit = await JetStreamLog(client, partition).append(commit, 0), commit.id
                fold.n, fold.at, fold.epoch, fold.state = 1, now, 1, made.pop(name)
                image = encode_image(fold)
                chunks = [image[at : at + CHUNK_BYTES] for at in range(0, len(image), CHUNK_BYTES)]
                await JetStreamSnapshots(client).save(partition, version, each(*chunks), seq=fold.seq, commit=commit.id)

    uvloop.run(main())


class Instant:
    """A provider that takes no time: what is measured is ours."""

    name = "instant"

    def __init__(self) -> None:
        self.sent = 0

    @contextlib.asynccontextmanager
    async def running(self) -> Any:
        yield

    async def send(self, notification: Notification) -> Delivered:
        self.sent += 1
        return Delivered(notification_id=notification.key)


async def _latencies_ms(client: Any, first_due_s: int) -> list[float]:
    """From the second that an alarm was set for to its claim in the log, by the server's stamp."""
    codec, found = Codec.of(REMINDER), []
    for name in partition_names(PARTITIONS):
        log = JetStreamLog(client, Partition("reminder", name))
        last = await log.last()
        assert last is not None
        seq = 0
        async with log.read(0) as reader:
            while seq < last.seq:
                for commit in await reader.next():
                    seq = commit.seq
                    stored_ms = commit.stored_at.timestamp() * 1000
                    for event in codec.decode(commit.payload):
                        if isinstance(event, e.AlarmDispatched):
                            number = int(event.page_id[9:17])
                            found.append(stored_ms - (first_due_s + number // DUE_PER_S) * 1000)
    return sorted(found)


def _percentile(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]


async def _running() -> Iterator[Figure]:
    directory = Path(tempfile.mkdtemp(prefix="drover-bench-"))
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(nats_server(directory))
        first_due_s = int(time.time()) + READY_S
        began = perf_counter()
        process = multiprocessing.get_context("spawn").Process(target=_save_snapshots, args=(server.url, first_due_s))
        process.start()
        await asyncio.get_running_loop().run_in_executor(None, process.join)
        assert process.exitcode == 0
        print(f"  snapshots made in {perf_counter() - began:.0f} s", flush=True)
        settings = load(
            {
                "DROVER_NATS_URL": server.url,
                "DROVER_POSTGRES_URL": "postgresql://x",
                "DROVER_JWT_SECRETS": "s" * 32,
                "DROVER_INSTANCE": "bench",
                "DROVER_REMINDER_FETCH_LIMIT": "200",
            },
            ReminderSettings,
        )
        client = await stack.enter_async_context(connected(server.url, "bench"))
        names = partition_names(PARTITIONS)
        data = [
            await latest(JetStreamSnapshots(client), Partition("reminder", name), snapshot_version(REMINDER))
            for name in names
        ]
        began = perf_counter()
        for one in data:
            assert one is not None
            msgspec.msgpack.decode(msgspec.msgpack.decode(one, type=dict[str, msgspec.Raw])["state"])
        bare_s = perf_counter() - began
        del data
        gc.collect()
        tune_garbage_collection()
        before = psutil.Process().memory_info().rss
        partitions = [Partition("reminder", name) for name in names]
        service = ReminderService(client, settings, bus=CommandBus(client), instance="bench", partitions=partitions)
        provider = Instant()
        service._sender._provider = provider
        began = perf_counter()
        await stack.enter_async_context(service.writing())
        await asyncio.gather(*(writer.leading.wait() for writer in service.writers))
        start_s = perf_counter() - began
        gc.collect()
        rss = psutil.Process().memory_info().rss - before
        alarms = sum(len(writer.state.alarms) for writer in service.writers if writer.state)
        assert alarms == ALARMS
        assert time.time() < first_due_s - LEAD_S, "this machine is too slow today; READY_S is too short for it"
        yield at_most("reminder.start_from_snapshots", start_s, bare_s, START_BOUND, "s")
        yield at_most("reminder.bytes_per_alarm", rss / alarms, BYTES_PER_ALARM_BOUND, 1.0, "bytes")
        print(f"  of which text: {TEXT_BYTES} bytes; waiting until they are due", flush=True)
        await asyncio.sleep(max(0.0, first_due_s - LEAD_S - time.time()))
        await stack.enter_async_context(service.sending())
        await asyncio.sleep(max(0.0, first_due_s + DUE_FOR_S - time.time()))
        while provider.sent < DUE_PER_S * DUE_FOR_S:
            await asyncio.sleep(0.1)
        latencies = await _latencies_ms(client, first_due_s)
        assert len(latencies) == DUE_PER_S * DUE_FOR_S
        for share, name in ((0.5, "p50"), (0.99, "p99")):
            value = _percentile(latencies, share)
            yield at_most(f"reminder.due_to_dispatched_{name}", value, P99_MS_BOUND, 1.0, "ms")


class Sendings:
    """Claims and reports over a state of some size, without a log."""

    def __init__(self, alarms: int) -> None:
        self.now = datetime(2026, 3, 2, 12, tzinfo=UTC)
        (self.state,) = states(alarms, int(self.now.timestamp()), ("main",)).values()

    def do(self, command: Any) -> None:
        decision = REMINDER.decide(self.state, command, self.now)
        while True:
            for event in decision.events:
                event.at = self.now
                REMINDER.evolve(self.state, event)
            if decision.then is None:
                return
            decision = decision.then(self.state, self.now)

    def sendings_us(self, count: int) -> float:
        """Claim, report; the next time is found among the user's minutes. Microseconds for one."""
        self.now += timedelta(days=200)
        began = perf_counter()
        for _ in range(count // 100):
            self.do(c.ClaimDue(100, "bench"))
            for alarm in list(self.state.in_hand.values()):
                self.do(c.ReportSent(alarm.page_id, alarm.sent_count, alarm.life, alarm.attempt))
        return (perf_counter() - began) / count * 1e6


def _decisions() -> list[Figure]:
    worlds = {size: Sendings(size) for size in SIZES}
    gc.collect()
    gc.disable()
    samples: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(ROUNDS):
        for size, world in worlds.items():
            samples[size].append(world.sendings_us(SENDINGS_PER_ROUND))
    cost = {size: min(times) for size, times in samples.items()}
    least = min(cost.values())
    gc.enable()
    return [at_most(f"reminder.decisions_at_{size}", cost[size], least, GROWTH_BOUND, "us") for size in SIZES]


async def figures() -> list[Figure]:
    logging.configure("json", "warning", debug="")
    running = [figure async for figure in _running()]
    return [*running, *_decisions()]
