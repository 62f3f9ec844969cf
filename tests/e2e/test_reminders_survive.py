"""Ten thousand reminders, senders killed in the middle, a provider that fails and dawdles: each is sent once."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from contextlib import asynccontextmanager
from random import Random

import pytest
from aiohttp import web

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Accepted
from drover.domain.partitions import partition_of
from drover.domain.reminder import REMINDER
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.streams import partitions_of
from drover.testing.waiting import eventually
from tests.e2e.process import DroverProcess, free_port
from tests.e2e.up import ready

ALARMS = 10_000
USERS = 700
FAILING = 0.30
LATE = 0.02
SEND_TIMEOUT_S = 1.0
REGISTERING_AT_ONCE = 2_000
PATIENCE_S = 150.0
SETTINGS = {
    "DROVER_POSTGRES_URL": "postgresql://nobody@127.0.0.1:1/nowhere",
    "DROVER_JWT_SECRETS": "a secret of the end-to-end tests and long enough",
    "DROVER_REMINDER_PROVIDER": "webhook",
    "DROVER_REMINDER_ALLOW_PRIVATE": "1",
    "DROVER_REMINDER_WEBHOOK_SECRETS": "what the receiver checks signatures with",
    "DROVER_REMINDER_SEND_TIMEOUT_S": str(SEND_TIMEOUT_S),
    "DROVER_REMINDER_CONCURRENCY": "50",
    "DROVER_REMINDER_RECOVER_S": "5",
    "DROVER_REMINDER_RETRY_S": "0.5",
    "DROVER_REMINDER_RETRY_MAX_S": "2",
    "DROVER_LOG_LEVEL": "warning",
}


class Provider:
    """Counts by key, and drops repeats, as the contract of the header says."""

    def __init__(self) -> None:
        self.calls = 0
        self.delivered: Counter[str] = Counter()
        """By key: how often it was taken for new."""
        self.repeats = 0
        self.failed = 0
        self._dice = Random(7)

    async def take(self, request: web.Request) -> web.Response:
        self.calls += 1
        key = request.headers["Idempotency-Key"]
        await request.read()
        roll = self._dice.random()
        if roll < FAILING:
            self.failed += 1
            return web.Response(status=503)
        if key in self.delivered:
            self.repeats += 1
        else:
            self.delivered[key] += 1
        if roll < FAILING + LATE:
            await asyncio.sleep(2 * SEND_TIMEOUT_S)  # it has it, but its sender will never know
        return web.json_response({"id": f"theirs-{key}"})


@pytest.fixture
async def provider():
    app, provider = web.Application(), Provider()
    app.router.add_post("/hook", provider.take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    provider.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield provider
    await runner.cleanup()


@asynccontextmanager
async def senders(nats, provider, folder):
    """Starts processes that send, by name; whatever is still there at the end is ended."""
    running: list[DroverProcess] = []

    async def start(name: str) -> DroverProcess:
        port = free_port()
        environ = SETTINGS | {
            "DROVER_NATS_URL": nats.url,
            "DROVER_NATS_SYSTEM_URL": nats.system_url,
            "DROVER_HTTP_PORT": str(port),
            "DROVER_INSTANCE": name,
            "DROVER_REMINDER_WEBHOOK_URL": provider.url,
        }
        process = DroverProcess("serve", "reminder", output=folder / f"{name}.log", environ=environ)
        running.append(process)
        await ready(process, f"http://127.0.0.1:{port}")
        return process

    try:
        yield start
    finally:
        for process in running:
            await process.end()


async def register_all(nats) -> None:
    async with connected(nats.url, "test") as client:
        bus = CommandBus(client)
        names = [partition.name for partition in await partitions_of(client, "reminder")]
        for begin in range(0, ALARMS, REGISTERING_AT_ONCE):
            outcomes = await asyncio.gather(
                *(
                    bus.send(
                        "reminder",
                        c.RegisterByPage(f"page-{number}", f"user-{number % USERS}", "title", "body"),
                        by="test",
                        partition=partition_of(f"user-{number % USERS}", names),
                        timeout_s=60.0,
                    )
                    for number in range(begin, begin + REGISTERING_AT_ONCE)
                )
            )
            assert all(isinstance(outcome, Accepted) for outcome in outcomes)


class Story:
    """What the log says happened."""

    def __init__(self) -> None:
        self.alarms = {}
        self.sent: Counter[tuple[str, int]] = Counter()
        self.dispatched: Counter[str] = Counter()
        self.instances: set[str] = set()


async def told_by_the_log(nats) -> Story:
    story, codec = Story(), Codec.of(REMINDER)
    async with connected(nats.url, "test") as client:
        for partition in await partitions_of(client, "reminder"):
            log, state = JetStreamLog(client, partition), REMINDER.initial()
            last = await log.last()
            seq = 0
            async with log.read(0) as reader:
                while last is not None and seq < last.seq:
                    for commit in await reader.next():
                        seq = commit.seq
                        for event in codec.decode(commit.payload):
                            REMINDER.evolve(state, event)
                            if isinstance(event, e.AlarmSent):
                                story.sent[event.page_id, event.sending] += 1
                            elif isinstance(event, e.AlarmDispatched):
                                story.dispatched[event.page_id] += 1
                                story.instances.add(event.instance)
            story.alarms.update(state.alarms)
    return story


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.req("RM-06", "RM-07", "RM-10", "RM-12")
async def test_every_reminder_is_sent_once_although_senders_are_killed_and_the_provider_fails(
    own_nats, provider, tmp_path
):
    def share(part: float):
        return lambda: len(provider.delivered) >= ALARMS * part

    async with senders(own_nats, provider, tmp_path) as start:
        first, second = await asyncio.gather(start("first"), start("second"))
        registering = asyncio.create_task(register_all(own_nats))
        await eventually(share(0.15), PATIENCE_S)
        first.send(signal.SIGKILL)
        await asyncio.gather(start("third"), first.ended())
        await eventually(share(0.5), PATIENCE_S)
        second.send(signal.SIGKILL)
        await second.ended()
        await start("fourth")
        await registering
        await eventually(share(1.0), PATIENCE_S)

        async def all_counted():
            story = await told_by_the_log(own_nats)
            return sum(story.sent.values()) >= ALARMS and not any(a.dispatched for a in story.alarms.values())

        await eventually(all_counted, PATIENCE_S, every_s=1.0)
    story = await told_by_the_log(own_nats)
    assert provider.delivered == Counter({f"page-{number}:1": 1 for number in range(ALARMS)}), "each key, once"
    assert story.sent == Counter({(f"page-{number}", 1): 1 for number in range(ALARMS)}), "none forgotten, none twice"
    assert {alarm.sent_count for alarm in story.alarms.values()} == {2}
    assert len(story.alarms) == ALARMS
    # The trouble was real: failures, repeats of what was in doubt, and more than one who sent.
    assert provider.failed > ALARMS * FAILING / 2
    assert provider.repeats > 0
    assert max(story.dispatched.values()) > 2
    assert story.instances & {"first", "second"}, "one who was killed had some in its hands"
    assert story.instances & {"third", "fourth"}
