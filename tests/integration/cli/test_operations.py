"""`drover status`, `doctor` and `migrate` on real servers."""

import asyncio
import json
import signal
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib import import_module

import nats.js.api as api
import pytest

from drover.bus.connection import connected
from drover.bus.live import announce
from drover.cli.exits import Exit
from drover.domain.contexts import CONTEXTS
from drover.embedded.nats import nats_server
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.streams import ensure_stream
from drover.postgres.migrate import load_migrations, migrate
from drover.projection.runtime import Runner
from drover.projector.app import Projector
from drover.projector.fleet import FLEET_PROJECTION
from drover.testing.waiting import eventually
from drover.writer.nats_writer import nats_writer, prepare

from .conftest import COMMAND_S, Written, pc, settings


@asynccontextmanager
async def platform(server, dsn):
    """Writers and a projector, which is what `status` asks for."""
    await migrate(dsn)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connected(server.url, "test"))
        await prepare(client, CONTEXTS)
        for context in CONTEXTS:
            decider = getattr(import_module(f"drover.domain.{context}"), context.upper())
            await stack.enter_async_context(nats_writer(client, decider, instance="the-leader").running())
        await stack.enter_async_context(Projector(partial(JetStreamLog, client), dsn, partial(announce, client)))
        yield


async def test_status_is_healthy_while_somebody_leads_and_projects(drover, own_nats, postgres_dsn):
    async with platform(own_nats, postgres_dsn):

        async def healthy():
            ended = await drover("status", "--json", **settings(own_nats, postgres_dsn))
            found = json.loads(ended.out)
            all_read = all(partition["behind"] == 0 for partition in found["partitions"])  # a moment after its start
            return ended.code == 0 and all_read and found

        found = await eventually(healthy)
        assert found["healthy"]
        assert [partition["context"] for partition in found["partitions"]] == list(CONTEXTS)
        for partition in found["partitions"]:
            assert (partition["leader"], partition["behind"]) == ("the-leader", 0)
        ended = await drover("status", **settings(own_nats, postgres_dsn))
        assert ended.code == 0
        assert all(word in ended.out for word in ("healthy", "fleet/main", "render/main", "the-leader"))


async def test_status_is_degraded_when_nobody_leads_and_says_why(drover, own_nats, postgres_dsn):
    async with connected(own_nats.url, "test") as client:
        await prepare(client, CONTEXTS)
    ended = await drover("status", "--json", **settings(own_nats, postgres_dsn))
    assert ended.code == 4
    found = json.loads(ended.out)
    assert not found["healthy"]
    assert any("Nobody leads fleet/main" in problem for problem in found["problems"])


async def test_watching_goes_on_until_ctrl_c(start, own_nats, postgres_dsn):
    watch = await start("status", "--watch", "--json", **settings(own_nats, postgres_dsn))
    for _ in range(2):
        line = await asyncio.wait_for(watch.stdout.readline(), COMMAND_S)
        assert json.loads(line)["postgres"].startswith("connected")
    watch.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(watch.wait(), COMMAND_S) == 130


async def test_migrate_lists_what_it_did_and_then_has_nothing_to_do(drover, nats, postgres_dsn):
    files = [migration.file for migration in load_migrations()]
    first = await drover("migrate", "--json", **settings(nats, postgres_dsn))
    assert (first.code, json.loads(first.out)) == (0, {"applied": files, "known": len(files)})
    again = await drover("migrate", "--json", **settings(nats, postgres_dsn))
    assert (again.code, json.loads(again.out)["applied"]) == (0, [])
    for_people = await drover("migrate", **settings(nats, postgres_dsn))
    assert "Nothing to do" in for_people.out


async def examined(drover, **environ):
    secrets = {"DROVER_JWT_SECRETS": "s" * 32} if environ else {}  # the services need it, so the doctor asks for it
    ended = await drover("doctor", "--json", **environ, **secrets)
    report = json.loads(ended.out)
    assert report["healthy"] is (ended.code == 0)
    return ended.code, {line["check"]: line for line in report["checks"]}


async def test_the_doctor_finds_nothing_wrong_with_a_good_platform_and_changes_nothing(drover, own_nats, postgres_dsn):
    code, found = await examined(drover, **settings(own_nats, postgres_dsn))
    assert (code, found["migrations"]["verdict"]) == (1, "fail")
    assert "drover migrate" in found["migrations"]["remedy"]
    assert found["streams"]["verdict"] == "skipped", "looking makes no stream"

    await migrate(postgres_dsn)
    async with connected(own_nats.url, "test") as client:
        await prepare(client, CONTEXTS)
    code, found = await examined(drover, **settings(own_nats, postgres_dsn))
    assert code == 0
    for check in ("NATS", "durability", "streams", "clock", "PostgreSQL", "migrations", "configuration"):
        assert found[check]["verdict"] == "ok", found[check]
    assert found["writers"]["verdict"] == "skipped", "nothing has run yet"


async def test_the_doctor_says_whether_commands_would_be_accepted(drover, own_nats, postgres_dsn):
    async with platform(own_nats, postgres_dsn):

        async def accepted():
            return (await examined(drover, **settings(own_nats, postgres_dsn)))[1]["writers"]["verdict"] == "ok"

        await eventually(accepted)
    code, found = await examined(drover, **settings(own_nats, postgres_dsn))
    assert (code, found["writers"]["verdict"]) == (1, "fail")
    assert "Nobody leads fleet/main" in found["writers"]["found"]
    assert "Is its service running?" in found["writers"]["remedy"]


async def test_the_doctor_sees_servers_that_would_lose_work(drover, tmp_path, postgres_dsn):
    async with nats_server(tmp_path / "unsynced", sync_always=False) as server:
        async with connected(server.url, "test") as client:
            await client.jetstream().add_stream(api.StreamConfig(name="FLEET", subjects=["evt.fleet.*"], max_msgs=10))
        code, found = await examined(drover, **settings(server, postgres_dsn))
    assert code == 1
    assert found["durability"]["verdict"] == found["streams"]["verdict"] == "fail"
    assert "sync_interval: always" in found["durability"]["remedy"]
    assert "max_msgs" in found["streams"]["remedy"]


async def test_the_doctor_takes_a_server_that_was_named_and_is_silent_for_a_failure(drover, closed_port, nats):
    silent = settings(nats, DROVER_NATS_URL=f"nats://u:hush@127.0.0.1:{closed_port}")
    ended = await drover("doctor", **silent)
    assert ended.code == 1
    assert "Connection refused" in ended.out and "hush" not in ended.out + ended.err


async def test_the_doctor_does_not_blame_a_machine_on_which_nothing_runs(drover):
    code, found = await examined(drover)
    assert code == 0
    assert found["NATS"]["verdict"] == "skipped"
    assert "drover up" in found["NATS"]["remedy"]
    assert found["nats-server"]["verdict"] == found["postgres"]["verdict"] == "ok"


@pytest.mark.parametrize("command", [("verify",), ("projection", "rebuild")])
async def test_a_read_model_without_a_log_is_said_in_a_sentence(drover, own_nats, postgres_dsn, command):
    ended = await drover(*command, "fleet", **settings(own_nats, postgres_dsn))
    assert ended.code == 3, ended.err
    assert "no log of the context 'fleet'" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.req("YR-14")
async def test_tables_of_another_log_are_dropped_and_computed_again(here, own_nats, postgres_dsn):
    await migrate(postgres_dsn)
    ours = settings(own_nats, postgres_dsn)
    async with connected(own_nats.url, "test") as client:
        await ensure_stream(client, "fleet")
        written = Written(client, "fleet")
        for number in range(3):
            await written.commit(pc(f"pc-{number}"))
        async with Runner(FLEET_PROJECTION, written.log, postgres_dsn) as runner:
            await eventually(lambda: runner.checkpoint.seq == 3)
        ended = await here("projection", "forget", "fleet", **ours)
        assert (ended.code, ended.out.strip()) == (0, "fleet: belongs to this log, so it stays")

        await client.jetstream().delete_stream("FLEET")  # the log of another farm takes its place
        await ensure_stream(client, "fleet")
        other = Written(client, "fleet")
        for number in range(4):
            await other.commit(pc(f"other-{number}"))
        async with Runner(FLEET_PROJECTION, other.log, postgres_dsn) as runner:
            stopped = await eventually(lambda: runner.stopped)
        assert stopped.reason == "another_history"
        ended = await here("projection", "rebuild", "fleet", **ours)
        assert ended.code == Exit.CONFIGURATION
        assert "is of another history than the log of fleet/main" in ended.err

        ended = await here("projection", "forget", "fleet", **ours)
        assert ended.code == 0, ended.err
        assert ended.out.startswith("fleet: dropped; at position 3 it has the commit")
        async with Runner(FLEET_PROJECTION, other.log, postgres_dsn) as runner:
            await eventually(lambda: runner.checkpoint.seq == 4)
        ended = await here("verify", "fleet", **ours)
        assert ended.code == 0, ended.out
