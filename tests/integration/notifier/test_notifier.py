"""`drover serve notifier` on a real NATS with a real receiver: each alert once, also when the process is killed."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from contextlib import asynccontextmanager
from functools import partial

import pytest
from aiohttp import web
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.contexts import CONTEXTS
from drover.domain.fleet import FLEET
from drover.domain.render import RENDER
from drover.eventlog.bucket import ensure_bucket
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.notifier.app import LEADER, Notifier
from drover.notifier.ledger import BUCKET, NatsLedger, Position, Record, Taken
from drover.notifier.settings import AlertSettings
from drover.outbound.signing import verify
from drover.testing.waiting import eventually
from drover.writer.clock import SystemClock
from drover.writer.nats_lease import read_holder
from drover.writer.nats_writer import prepare
from tests.e2e.process import DroverProcess, free_port
from tests.e2e.up import ready
from tests.settings import load

SECRET = "a secret that the receiver knows as well"
WITHIN_S = 60.0


class Inbox:
    """A receiver over HTTP. While `holding`, it takes requests and does not answer."""

    def __init__(self):
        self.seen = []
        """(path, headers, body), in the order of arrival."""
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def take(self, request):
        raw = await request.read()
        self.seen.append((request.path, request.headers, raw))
        await self.may_answer.wait()
        return web.Response(text="ok")

    def bodies(self, path="/hook"):
        return [json.loads(raw) for place, _, raw in self.seen if place == path]

    def keys(self):
        return [body["key"] for body in self.bodies()]


@asynccontextmanager
async def inbox():
    made = Inbox()
    app = web.Application()
    app.router.add_post("/{place}", made.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield made
    finally:
        await runner.cleanup()


class Farm:
    """The log, to which the test writes as the writers do, and processes that follow it."""

    def __init__(self, nats, client, url, folder):
        self._nats, self._client, self._url, self._folder = nats, client, url, folder
        self._n = Counter()
        self.processes = {}

    def environ(self, name, **more):
        return {
            "DROVER_NATS_URL": self._nats.url,
            "DROVER_NATS_SYSTEM_URL": self._nats.system_url,
            "DROVER_POSTGRES_URL": "postgresql://nobody@127.0.0.1:1/nothing",  # not asked for anything
            "DROVER_JWT_SECRETS": "s" * 32,
            "DROVER_INSTANCE": name,
            "DROVER_HTTP_PORT": str(free_port()),
            "DROVER_ALERT_WEBHOOK_URL": f"{self._url}/hook",
            "DROVER_ALERT_WEBHOOK_SECRETS": SECRET,
            "DROVER_ALERT_ALLOW_PRIVATE": "1",
            # So that nobody tries again because the machine is busy, and a leader is killed before it does so itself.
            "DROVER_ALERT_SEND_TIMEOUT_S": "30",
            **more,
        }

    def start(self, name, **more):
        environ = self.environ(name, **more)
        output = self._folder / f"{name}.log"
        process = self.processes[name] = DroverProcess("serve", "notifier", output=output, environ=environ)
        process.url = f"http://127.0.0.1:{environ['DROVER_HTTP_PORT']}"
        return process

    @asynccontextmanager
    async def here(self, name, **more):
        """The same in the process of the test."""
        settings, open_log = load(self.environ(name, **more), AlertSettings), partial(JetStreamLog, self._client)
        notifier = Notifier(self._client, settings, open_log=open_log, instance=name)
        async with notifier.running():
            await self.leader()
            yield

    async def leader(self):
        """Who delivers, once it knows from where."""

        async def leading():
            gone = [one.tail() for one in self.processes.values() if one.exit_code not in (None, -signal.SIGKILL)]
            assert not gone, gone
            holder = await read_holder(self._client, LEADER)
            begun = [await NatsLedger(self._client).position(context) for context in CONTEXTS]
            return holder if holder is not None and None not in begun else None

        return (await eventually(leading, WITHIN_S)).instance

    async def record(self, decider, *events):
        """Without a writer: nobody else writes here."""
        log = JetStreamLog(self._client, Partition(decider.context))
        for event in events:
            self._n[decider.context] += 1
            event.n, event.at = self._n[decider.context], SystemClock().now()
        last = await log.last()
        await log.append(Commit(str(uuid4()), 1, Codec.of(decider).encode(events)), last.seq if last else 0)

    async def raised(self, *ids):
        await self.record(FLEET, *(AlertRaised(one, "host_failing", "PC-1", f"Text of {one}", {}) for one in ids))

    async def resolved(self, *ids):
        await self.record(FLEET, *(AlertResolved(one, "host_failing", "PC-1", "recovered") for one in ids))


@pytest.fixture
async def farm(own_nats, tmp_path):
    async with inbox() as receiver, connected(own_nats.url, "test") as client:
        await prepare(client, CONTEXTS)
        await ensure_bucket(client, BUCKET)
        made = Farm(own_nats, client, receiver.url, tmp_path)
        made.inbox = receiver
        try:
            yield made
        finally:
            receiver.may_answer.set()
            for process in made.processes.values():
                await process.end()


@pytest.mark.slow
@pytest.mark.req("EV-01")
async def test_of_two_processes_the_one_that_delivers_is_killed_and_none_is_lost_or_told_twice(farm):
    await farm.raised("old")
    for process in (farm.start("one"), farm.start("two")):
        await ready(process, process.url)
    leader = await farm.leader()
    other = "two" if leader == "one" else "one"
    first, more = [f"a{number}" for number in range(10)], [f"b{number}" for number in range(10)]
    await farm.raised(*first)
    await eventually(lambda: len(farm.inbox.seen) == len(first), WITHIN_S)

    farm.inbox.may_answer.clear()
    await farm.raised(*more)
    await eventually(lambda: len(farm.inbox.seen) == len(first) + 1, WITHIN_S)
    in_flight = farm.inbox.keys()[-1]
    farm.processes[leader].send(signal.SIGKILL)
    await farm.processes[leader].ended()
    farm.inbox.may_answer.set()

    await farm.resolved(*first, *more)
    wanted = {f"fleet.{one}.{phase}" for one in (*first, *more) for phase in ("raised", "resolved")}
    await eventually(lambda: set(farm.inbox.keys()) == wanted, WITHIN_S)
    assert await farm.leader() == other
    processes = farm.processes
    processes[other].send(signal.SIGTERM)
    assert await processes[other].ended() == 0, processes[other].tail()

    counts = Counter(farm.inbox.keys())
    assert {key for key, count in counts.items() if count > 1} == {in_flight}, "only what nobody had an answer to"
    repeats = [json.loads(raw)["key"] for _, headers, raw in farm.inbox.seen if headers.get("Drover-Repeat")]
    assert repeats == [in_flight], "and that says so"
    for _, headers, raw in farm.inbox.seen:
        assert verify(headers["Drover-Signature"], raw, SECRET, time.time())
        assert headers["Idempotency-Key"] == json.loads(raw)["key"]
    keys = farm.inbox.keys()
    for one in (*first, *more):
        assert keys.index(f"fleet.{one}.raised") < keys.index(f"fleet.{one}.resolved")
    said = "".join(process.output for process in processes.values())
    assert SECRET not in said and "/hook" not in said


@pytest.mark.req("EV-01")
async def test_slack_and_the_webhook_are_told_of_every_context_and_a_restart_tells_nothing_again(farm):
    slack = {"DROVER_ALERT_SLACK_URL": f"{farm.inbox.url}/slack"}
    async with farm.here("one", **slack):
        await farm.raised("a1")
        await farm.record(RENDER, AlertRaised("r1", "nas_away", "nas", "The NAS is away", {"render_id": 7}))
        await eventually(lambda: len(farm.inbox.seen) == 4, WITHIN_S)
    async with farm.here("again", **slack):
        await farm.resolved("a1")
        await eventually(lambda: len(farm.inbox.seen) == 6, WITHIN_S)
    assert sorted(farm.inbox.keys()) == ["fleet.a1.raised", "fleet.a1.resolved", "render.r1.raised"]
    told = [message["blocks"][0]["text"]["text"] for message in farm.inbox.bodies("/slack")]
    assert sorted(told) == sorted(["🔴 Host failing", "🔴 Nas away", "✅ Over: host failing"])


async def test_the_ledger_lets_one_of_two_write(nats_url):
    async with connected(nats_url, "test") as client:
        await ensure_bucket(client, BUCKET)
        await ensure_bucket(client, BUCKET)
        one, two = NatsLedger(client), NatsLedger(client)
        key, record = f"fleet.{uuid4()}.raised", Record(state="begun", attempt=1, by="one")
        assert await one.get("slack", key) == (None, 0)
        revision = await one.put("slack", key, record, 0)
        with pytest.raises(Taken):
            await two.put("slack", key, Record(state="begun", attempt=1, by="two"), 0)
        assert await one.put("slack", key, record, 0) == revision, "its own write, whose answer was lost"
        assert await two.get("slack", key) == (record, revision)
        assert await two.get("webhook", key) == (None, 0)

        context = f"context-{uuid4()}"
        assert await one.position(context) is None
        assert await two.position(context) is None
        await one.set_position(context, Position(7, "id-7"))
        with pytest.raises(Taken):
            await two.set_position(context, Position(5))
        assert await two.position(context) == Position(7, "id-7")
        await two.set_position(context, Position(8))
        with pytest.raises(Taken):
            await one.set_position(context, Position(9))
