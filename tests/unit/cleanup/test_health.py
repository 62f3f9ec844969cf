"""`GET /api/system/health`: each dependency in a word, for anybody, at bounded cost."""

import asyncio
from datetime import UTC, datetime
from importlib.metadata import version

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from drover.cleanup import health
from drover.eventlog.log import Partition
from drover.service.health import Health
from drover.web.application import add_handlers, create_application
from drover.writer import refusals
from drover.writer.acceptance import Acceptance

PATH = "/api/system/health"


@pytest.mark.req("SY-08")
async def test_all_is_well(world):
    world.pool.rows = []
    answer = await world.client.get(PATH)
    assert answer.status == 200
    body = await answer.json()
    datetime.strptime(body.pop("timestamp"), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert body == {
        "status": "healthy",
        "version": version("drover"),
        "services": {
            "database": "connected",
            "clerk": "not_configured",
            "gemini": "not_configured",
            "nats": "connected",
            "writers": "connected",
        },
    }


@pytest.mark.req("SY-08")
async def test_a_database_that_is_down_is_503(world):
    answer = await world.client.get(PATH)
    assert answer.status == 503
    body = await answer.json()
    assert body["status"] == "unhealthy"
    assert body["services"] == {
        "database": "error",
        "clerk": "not_configured",
        "gemini": "not_configured",
        "nats": "connected",
        "writers": "connected",
    }


@pytest.mark.req("SY-08")
async def test_a_lost_log_is_503(world):
    world.pool.rows = []
    world.nats.is_connected = False
    answer = await world.client.get(PATH)
    assert (answer.status, (await answer.json())["services"]["nats"]) == (503, "error")


@pytest.mark.req("SY-08")
async def test_a_writer_that_accepts_no_command_is_503_and_the_log_says_why(world, monkeypatch, logged):
    fleet, render = Partition("fleet"), Partition("render")
    full = refusals.lease_not_renewed(fleet, "no answer in time")

    async def found(client, contexts):
        return [Acceptance(fleet, "one", None, full), Acceptance(render, "one", None, None)]

    monkeypatch.setattr(health, "ask_in_use", found)
    world.pool.rows = []
    answer = await world.client.get(PATH)
    body = await answer.json()
    assert (answer.status, body["services"]["nats"], body["services"]["writers"]) == (503, "connected", "error")
    assert "fleet" not in str(body)
    assert [line["why"] for line in logged if line["event"] == "commands_refused"] == [full.why]


async def asked(probes, **options):
    app = create_application(Health(), body_bytes_max=1024)
    add_handlers(app, [health.Dependencies(probes, "1.0.0", **options)])
    async with TestClient(TestServer(app)) as client:
        answer = await client.get(PATH)
        return answer.status, (await answer.json())["services"]


@pytest.mark.req("SY-08")
async def test_whoever_does_not_answer_is_timed_out():
    async def hangs():
        await asyncio.Event().wait()

    assert await asked({"gemini": hangs}, probe_s=0.01) == (503, {"gemini": "timeout"})


@pytest.mark.req("SY-08", "SY-15")
async def test_what_goes_wrong_is_told_in_one_word_only(logged):
    async def fails():
        raise RuntimeError("postgresql://drover:hunter2@db refused")

    assert await asked({"database": fails}) == (503, {"database": "error"})
    assert "hunter2" not in str(logged)


@pytest.mark.req("SY-08")
@pytest.mark.parametrize(
    ("status", "word"), [(200, "reachable"), (401, "reachable"), (404, "reachable"), (503, "error")]
)
async def test_an_address_is_reachable_where_anything_that_works_answers(status, word):
    async def answer(request):
        return web.Response(status=status)

    app = web.Application()
    app.router.add_get("/keys", answer)
    async with TestServer(app) as server:
        probe = health.address(str(server.make_url("/keys")))
        assert await probe() == word
    assert await asked({"clerk": probe}) == (503, {"clerk": "error"}), "nobody is there any more"


@pytest.mark.parametrize(
    "world",
    [
        {
            "DROVER_JWKS_URL": "http://127.0.0.1:1/keys",
            "DROVER_JWT_ISSUER": "https://clerk.example",
            "DROVER_JWT_AUDIENCE": "drover",
            "DROVER_ANALYSIS_URL": "http://127.0.0.1:1/",
        }
    ],
    indirect=True,
)
@pytest.mark.req("SY-08")
async def test_the_issuer_and_the_provider_are_those_of_the_settings(world):
    world.pool.rows = []
    answer = await world.client.get(PATH)
    assert answer.status == 503
    services = (await answer.json())["services"]
    assert (services["clerk"], services["gemini"]) == ("error", "error")


@pytest.mark.req("SY-08")
async def test_many_who_ask_cost_as_much_as_one():
    probed, now = [], [0.0]

    async def probe():
        probed.append(1)
        await asyncio.sleep(0)
        return "connected"

    app = create_application(Health(), body_bytes_max=1024)
    add_handlers(app, [health.Dependencies({"database": probe}, "1", clock=lambda: now[0])])
    async with TestClient(TestServer(app)) as client:
        answers = await asyncio.gather(*(client.get(PATH) for _ in range(20)))
        assert {answer.status for answer in answers} == {200}
        assert len(probed) == 1
        await client.get(PATH)
        assert len(probed) == 1
        now[0] += health.KEPT_S
        await client.get(PATH)
        assert len(probed) == 2
