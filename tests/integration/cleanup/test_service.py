"""The cleanup service with nothing stood in for: HTTP, bus, writer, log, projector, PostgreSQL, and back."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, suppress
from functools import partial

import asyncpg
import pytest
from aiohttp import ClientSession

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.live import announce, following_progress
from drover.cleanup.app import Cleanup, CleanupEdge
from drover.cleanup.settings import CleanupSettings
from drover.eventlog.jetstream import JetStreamLog
from drover.postgres.migrate import migrate
from drover.postgres.pool import open_pool
from drover.projection.newest import Newest
from drover.projection.positions import Positions
from drover.projector.analysis import ANALYSIS_PROJECTION
from drover.projector.app import Projector
from drover.readmodel.form import placed
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.testing.waiting import eventually
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.freshness import Freshness
from drover.web.serve import serve
from drover.writer.nats_writer import prepare
from tests.patient_reads import patient_reads  # noqa: F401 - a fixture for all tests here
from tests.settings import load

SECRET = "s" * 32
CRON_SECRET = "the-secret-of-the-cron-job"
ANN = "user_ann"


class Office:
    def __init__(self, session, url, pool, cleanup):
        self._session = session
        self._url = url
        self.pool = pool
        self.cleanup = cleanup
        self._key = {"apikey": issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())}

    async def call(self, method, path, body=None, **headers):
        async with self._session.request(method, self._url + path, json=body, headers=self._key | headers) as answer:
            return answer.status, await answer.json(), answer.headers

    async def runs(self):
        return [
            tuple(row)
            for row in await self.pool.fetch(placed("SELECT trigger, by, status FROM rm_analysis.cleanup_runs"))
        ]

    async def has_made_up_for_the_run_that_was_missed(self):
        with suppress(asyncpg.PostgresError):  # the read model is still being made
            return [status for *_, status in await self.runs()] == ["finished"]
        return False

    async def start(self, user=ANN):
        status, body, _ = await self.call("POST", "/api/saju/tests", {"user_id": user})
        assert status == 201, body
        return body


@pytest.fixture
async def office(own_nats, postgres_dsn):
    environ = {
        "DROVER_NATS_URL": own_nats.url,
        "DROVER_POSTGRES_URL": postgres_dsn,
        "DROVER_JWT_SECRETS": SECRET,
        "CRON_SECRET": CRON_SECRET,
        "DROVER_CLEANUP_TIMEOUT_S": "1",
        "DROVER_CLEANUP_CRON": "0 0 1 1 *",  # none on the hour, in the middle of a test
        "DROVER_HTTP_PORT": "0",
    }
    settings, cleanup_settings = load(environ), load(environ, CleanupSettings)
    await migrate(settings.postgres_url)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        client = await enter(connected(settings.nats_url, "test"))
        divided = await prepare(client, ("analysis",))
        open_log = partial(JetStreamLog, client)
        cleanup = Cleanup(client, cleanup_settings, open_log=open_log, instance=settings.instance)
        await enter(cleanup.writer.running())
        await enter(cleanup.watching())
        positions = Positions(divided["analysis"])
        await enter(following_progress(client, positions.observe))
        await enter(
            Projector(
                partial(JetStreamLog, client),
                settings.postgres_url,
                partial(announce, client),
                projections=(ANALYSIS_PROJECTION,),
            )
        )
        pool = await enter(open_pool(settings.postgres_url, "test"))
        app = create_application(Health(), body_bytes_max=settings.body_bytes_max)
        edge = CleanupEdge(
            settings=settings,
            cleanup=cleanup_settings,
            bus=CommandBus(client),
            client=client,
            pool=pool,
            freshness=Freshness(positions, Newest(divided["analysis"])),
        )
        add_handlers(app, edge.handlers(), Access.of(settings, Authenticator(settings.jwt_secrets)))
        port = await enter(serve(app, settings.http_host, settings.http_port, grace_s=1))
        session = await enter(ClientSession())
        office = Office(session, f"http://127.0.0.1:{port}", pool, cleanup)
        await eventually(office.has_made_up_for_the_run_that_was_missed)  # it would clean what a test has started
        yield office


@pytest.mark.req("SY-01", "SY-23")
async def test_the_life_of_a_test_from_the_call_to_the_row(office):
    status, _, _ = await office.call("POST", "/api/saju/users", {"user_id": ANN, "remaining_tests": 3})
    assert status == 201
    tests = [(await office.start())["id"] for _ in range(3)]
    status, body, _ = await office.call("POST", "/api/saju/tests", {"user_id": ANN})
    assert (status, body["error"]) == (402, "NO_TESTS_LEFT")
    await office.call("POST", f"/api/saju/tests/{tests[0]}/complete", {"result_ref": "r/1"})
    _, _, headers = await office.call("POST", f"/api/saju/tests/{tests[1]}/fail", {"error_message": "no"})
    at_least = {"Drover-Min-Position": headers["Drover-Position"]}
    status, body, _ = await office.call("GET", f"/api/saju/tests?user_id={ANN}", **at_least)
    assert (status, body["remaining_tests"]) == (200, 1)
    assert [(row["id"], row["status"], row["refunded"]) for row in body["tests"]] == [
        (tests[2], "processing", False),
        (tests[1], "failed", True),
        (tests[0], "completed", False),
    ]
    assert all(row["updated_at"] >= row["created_at"] for row in body["tests"])
    _, body, _ = await office.call("GET", f"/api/saju/tests?limit=2&before={tests[2]}")
    assert [row["id"] for row in body["tests"]] == [tests[1], tests[0]]
    _, body, _ = await office.call("GET", f"/api/saju/tests?user_id={ANN}&status=completed")
    assert [row["id"] for row in body["tests"]] == [tests[0]]


@pytest.mark.req("SY-01")
async def test_a_start_that_is_repeated_with_its_key_costs_one(office):
    await office.call("POST", "/api/saju/users", {"user_id": ANN, "remaining_tests": 3})
    answers = [
        await office.call("POST", "/api/saju/tests", {"user_id": ANN}, **{"Idempotency-Key": "once"}) for _ in range(3)
    ]
    assert len({body["id"] for _, body, _ in answers}) == 1
    assert {body["remaining_tests"] for _, body, _ in answers} == {2}


@pytest.mark.req("SY-02", "SY-04", "SY-06", "SY-07", "SY-16")
async def test_a_cleanup_over_http_with_a_user_who_cannot_be_refunded(office):
    for user in (ANN, "user_ben"):
        await office.call("POST", "/api/saju/users", {"user_id": user, "remaining_tests": 3})
    await asyncio.gather(*(office.start(user) for user in (ANN, ANN, "user_ben")))
    await office.call("PATCH", f"/api/saju/users/{ANN}", {"frozen": True})

    async def cleaned():
        status, body, _ = await office.call("POST", "/api/system/cleanup-tests", **{"X-Cron-Secret": CRON_SECRET})
        assert status == 200, body
        return body["users_affected"] == ["user_ben"]

    await eventually(cleaned)
    await office.call("PATCH", f"/api/saju/users/{ANN}", {"frozen": False})
    _, body, _ = await office.call("POST", "/api/system/cleanup-tests", Authorization=f"Bearer {CRON_SECRET}")
    assert body == {"message": "Cleanup completed", "cleaned_count": 2, "users_affected": [ANN]}

    async def resolved():
        return await office.pool.fetchrow(
            placed("SELECT reason FROM rm_analysis.alerts WHERE kind = 'cleanup_failed' AND resolved_at IS NOT NULL")
        )

    assert (await eventually(resolved))["reason"] == "a clean run"
    notices = await office.pool.fetch(
        placed(
            "SELECT data ->> 'user_id' AS u, data ->> 'tests' AS t FROM rm_analysis.events"
            " WHERE type = 'UserNotificationRequested'"
        )
    )
    assert {(row["u"], row["t"]) for row in notices} == {(ANN, "2"), ("user_ben", "1")}
    left = await office.pool.fetch(
        placed("SELECT id, remaining_tests, updated_at > created_at AS touched FROM rm_analysis.users")
    )
    assert {tuple(row) for row in left} == {(ANN, 3, True), ("user_ben", 3, True)}


@pytest.mark.req("SY-05")
async def test_the_hour_that_was_missed_is_made_up_for_at_the_start(office):
    assert await office.runs() == [("cron", "cron", "finished")]


@pytest.mark.req("SY-08")
async def test_health_asks_the_real_ones(office):
    status, body, _ = await office.call("GET", "/api/system/health")
    assert status == 200
    assert body["services"] == {
        "database": "connected",
        "clerk": "not_configured",
        "gemini": "not_configured",
        "nats": "connected",
        "writers": "connected",
    }
