"""Attacks on the log by whoever has the password of a NATS user: asked of a real server with the users of `deploy`.

Render machines and other programs outside can put nothing into a log. A service of the platform can make NATS put an
answer there, but readers skip it (ADR 0022): the commits stay as they are.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
import pytest
from nats.errors import NoRespondersError

from drover.bus.broadcast import broadcast
from drover.bus.connection import connected
from drover.bus.telemetry import TelemetryOut
from drover.bus.telemetry import listening as listening_to_telemetry
from drover.domain.contexts import CONTEXTS
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.eventlog.reactor_switch import OUTSIDE_API, contexts_with_reactors_off, switch_reactors
from drover.render.nudges import CLEAR_CACHE
from drover.testing.waiting import eventually
from drover.writer.nats_writer import prepare
from tests.deploy.test_nats_users import INSIDE, OUTSIDE, STREAMS, concrete, settled, speaking_as
from tools.nats_users import USERS, publishes

COMMITS = 2
PAYLOAD = b'{"type":"X","n":1,"at":"2026-01-31T08:00:00Z","by":""}\n'
WRITERS = {context: name for name, user in USERS.items() for context in user.writes}
BY_DESIGN = ("$JS.API.STREAM.PURGE.", "$JS.API.CONSUMER.DELETE.", "$JS.API.STREAM.DELETE.", "evt.", "snap.", "$KV.")
"""What a user that may publish there shall do with a log, or does to its own things."""
ASKED = {"render-worker": ("cmd.render.main", f"{OUTSIDE_API}.STREAM.INFO.RENDER"), "pages": ("ext.pages.deleted",)}
SERVICES = [name for name in (*INSIDE, *OUTSIDE) if name not in ("operator", "restore")]


class Logs:
    """The logs of all contexts, seen by an operator."""

    def __init__(self, client):
        self._client = client

    async def fill(self, server):
        async with connected(server.url_as("restore"), "restore") as client:
            await prepare(client, CONTEXTS)
            for context in CONTEXTS:
                log = JetStreamLog(client, Partition(context))
                for number in range(COMMITS):
                    await log.append(Commit(f"{context}-{number}", 1, PAYLOAD), number)

    async def raw(self):
        """Configuration and last position of each stream, whoever wrote what is in it."""
        infos = {stream: await self._client.jetstream().stream_info(stream) for stream in STREAMS}
        return {stream: (info.config, info.state.last_seq) for stream, info in infos.items()}

    async def commits(self):
        """What readers get: foreign messages have no id."""
        found = {}
        for context in CONTEXTS:
            log = JetStreamLog(self._client, Partition(context))
            end = await log.context_end()
            async with log.read(0) as reader:
                read = []
                while not read or read[-1].seq < end:
                    read += await reader.next()
            found[context] = [(commit.id, commit.payload) for commit in read if commit.id]
        return found


@pytest.fixture
async def logs(permitted_nats):
    async with connected(permitted_nats.url_as("operator"), "operator") as client:
        logs = Logs(client)
        await logs.fill(permitted_nats)
        yield logs


@asynccontextmanager
async def writers_that_answer(server):
    """Those whom requests are for answer each of them, with words of their own."""
    async with AsyncExitStack() as stack:
        asked = {f"cmd.{context}.*": name for context, name in WRITERS.items()} | {"ext.pages.deleted": "reminder"}
        for subject, name in asked.items():
            client = await stack.enter_async_context(connected(server.url_as(name), name))
            await client.subscribe(subject, cb=_answer)
            await at_the_server(client)
        yield


async def at_the_server(client):
    """Wait until the server has all that was sent. The first ping of nats-py may overtake what waits in its buffer."""
    for _ in range(2):
        await client.flush()


async def _answer(message):
    if message.reply:
        await message.respond(b'{"epoch":1,"outcomes":[]}')


async def aim_replies(client, user):
    """Ask whatever the user may ask, and direct the answers to every log; let the server trace the way there, too."""
    for subject in map(concrete, publishes(user)):
        if subject.startswith(BY_DESIGN):
            continue
        for context in CONTEXTS:
            target = Partition(context).subject
            await client.publish(subject, b"", reply=target, headers={"Nats-Trace-Dest": target})
            await client.publish(subject, b"[]", reply=target)
    await at_the_server(client)


async def settle(server):
    """Wait until the server has done all that was asked before: a marker of ours arrives last."""
    async with connected(server.url_as("scheduler"), "scheduler") as client:
        before = await JetStreamLog(client, Partition("fleet")).context_end()
        await client.publish("$JS.API.INFO", b"", reply=Partition("fleet").subject)

        async def arrived():
            return await JetStreamLog(client, Partition("fleet")).context_end() > before

        await eventually(arrived)


@pytest.mark.req("SE-13")
@pytest.mark.parametrize("name", OUTSIDE)
async def test_a_reply_subject_that_is_a_log_puts_nothing_there_for_who_is_outside(permitted_nats, logs, name):
    before = await logs.raw()
    async with writers_that_answer(permitted_nats), speaking_as(permitted_nats, name) as (client, refused):
        await aim_replies(client, USERS[name])
        traces = {("publish", Partition(context).subject) for context in CONTEXTS}
        await settled(client, refused, traces)
        assert refused == traces, "NATS refuses the traces, but not the replies: only the account keeps these away"
        for subject in ASKED[name]:  # answered in order, so the answers before have gone where they go
            assert (await client.request(subject, b"[]", timeout=30)).data, "its own answers arrive"
    assert await logs.raw() == before
    await settle(permitted_nats)
    after = await logs.raw()
    config, end = before["FLEET"]
    assert after == before | {"FLEET": (config, end + 1)}, "the marker of a service in the main account, and no more"


@pytest.mark.req("SE-13")
@pytest.mark.parametrize("name", [name for name in SERVICES if name in INSIDE])
async def test_a_reply_subject_that_is_a_log_changes_no_commit_for_who_is_inside(permitted_nats, logs, name):
    before = await logs.commits()
    assert {context: len(commits) for context, commits in before.items()} == dict.fromkeys(CONTEXTS, COMMITS)
    async with writers_that_answer(permitted_nats), speaking_as(permitted_nats, name) as (client, _):
        await aim_replies(client, USERS[name])
    await settle(permitted_nats)
    assert await logs.commits() == before
    async with connected(permitted_nats.url_as("restore"), "restore") as client:
        log = JetStreamLog(client, Partition("fleet"))
        end = await log.context_end()
        assert await log.append(Commit("next", 1, PAYLOAD), end) == end + 1, "and the log goes on"


@pytest.mark.req("SE-13")
@pytest.mark.parametrize("name", SERVICES)
async def test_no_service_can_update_or_recreate_a_stream(permitted_nats, logs, name):
    before = await logs.raw()
    async with speaking_as(permitted_nats, name) as (client, _):
        for stream in STREAMS:
            # Each would be accepted from a user that may: the oldest commits go, or whatever is said becomes a commit.
            config = before[stream][0]
            fewer, wider = config.evolve(max_msgs=1), config.evolve(subjects=[*config.subjects, "cmd.>", "tel.>"])
            for subject in (f"$JS.API.STREAM.{verb}.{stream}" for verb in ("UPDATE", "CREATE", "PURGE", "DELETE")):
                if subject.startswith(BY_DESIGN) and subject in publishes(USERS[name]):
                    continue  # the archiver removes commits, and writers old snapshots
                for changed in (fewer, wider):
                    await client.publish(subject, msgspec.json.encode(changed.as_dict()))
        await at_the_server(client)
    await settle(permitted_nats)
    config, end = before["FLEET"]
    assert await logs.raw() == before | {"FLEET": (config, end + 1)}


@pytest.mark.req("SE-13", "RQ-01")
async def test_a_render_machine_works_through_the_border(permitted_nats, logs):
    heard, batches = [], []
    async with AsyncExitStack() as stack:
        worker, render, gateway, projector = [
            await stack.enter_async_context(connected(permitted_nats.url_as(name), name))
            for name in ("render-worker", "render", "gateway", "projector")
        ]

        async def on_nudge(message):
            heard.append(message.subject)

        for subject in ("evt.render.>", CLEAR_CACHE):
            await worker.subscribe(subject, cb=on_nudge)
        await at_the_server(worker)
        await JetStreamLog(render, Partition("render")).append(Commit("more", 1, PAYLOAD), COMMITS)
        await broadcast(gateway, CLEAR_CACHE)
        await eventually(lambda: {*heard} == {"evt.render.main", CLEAR_CACHE})

        assert await contexts_with_reactors_off(worker, ["render"], outside=True) == set()
        async with connected(permitted_nats.url_as("restore"), "restore") as restore:
            await switch_reactors(restore, "render", on=False)
        assert await contexts_with_reactors_off(worker, ["render"], outside=True) == {"render"}

        await stack.enter_async_context(listening_to_telemetry(projector, "render", batches.append))
        await at_the_server(projector)
        async with TelemetryOut(worker, "render", "ae-1").running():
            pass  # it sends a last batch when it stops
        await eventually(lambda: [batch.source for batch in batches] == ["ae-1"])

        with pytest.raises(NoRespondersError):  # at once, so that a worker waits for no time-out while nobody leads
            await worker.request("cmd.render.main", b"[]", timeout=30)
    assert permitted_nats.violations() == []
