"""Every service with the NATS user of its own, over TLS: work goes through all of them, and nothing is refused."""

from __future__ import annotations

import asyncio
import base64
import time
from contextlib import asynccontextmanager
from functools import partial

import pytest

from drover.cli.service_names import PARTS, SERVICES
from drover.domain.contexts import CONTEXTS
from drover.platform import serve as platform
from drover.platform.settings import load
from drover.postgres.migrate import migrate
from drover.service.api_keys import Role, issue_api_key
from drover.testing.waiting import eventually
from tests.e2e.client import calling
from tests.e2e.farmhand import hire, order
from tests.e2e.process import free_port
from tools.nats_users import SYSTEM, USERS

SECRET = "a secret of the tests of deployment and long enough"
READY_S = 60.0
EDGES = ("gateway", "cleanup", "reminder", "api")
GFX_DATA = {"slots": [{"slot_number": 1, "fields": {"name": "PLAYER"}}]}


class Apart:
    """All services in one process, but each with connections and a port of its own."""

    def __init__(self, nats, postgres_dsn, folder):
        self._nats = nats
        self._dsn = postgres_dsn
        self._folder = folder
        self.ports = {}

    def settings(self, service):
        self.ports[service] = free_port()
        # As compose.yaml and the chart do: only who lets people in knows what their tokens are signed with.
        edge = {"DROVER_IDENTITY_SECRETS": SECRET[::-1]} if service in EDGES else {}
        return load(
            edge
            | (self.of_a_worker() if service == "render-worker" else {"DROVER_RENDER_WORKERS": "0"})
            | {
                "DROVER_NATS_URL": self._nats.url_as(service),
                "DROVER_NATS_SYSTEM_URL": self._nats.url_as(SYSTEM),
                "DROVER_POSTGRES_URL": self._dsn,
                "DROVER_JWT_SECRETS": SECRET,
                "DROVER_SEALING_KEYS": "k1:" + base64.b64encode(b"k" * 32).decode(),
                "DROVER_ALERT_WEBHOOK_URL": "http://127.0.0.1:9/alerts",
                "DROVER_ALERT_WEBHOOK_SECRETS": SECRET,
                "DROVER_ALERT_ALLOW_PRIVATE": "1",
                "DROVER_REMINDER_PARTITIONS": "1",
                "DROVER_ARCHIVE": str(self._folder / "archive"),
                "DROVER_LOG_KEEP": "1MB",
                "DROVER_HTTP_PORT": str(self.ports[service]),
                "DROVER_INSTANCE": service,
            }
        )

    def of_a_worker(self):
        """One that has all it needs, but for nexrender."""
        return {
            "DROVER_RENDER_NEXRENDER_URL": "http://127.0.0.1:9",
            "DROVER_RENDER_NAS": str(self._folder),
            "DROVER_RENDER_NAS_GUARD": "folder",
            "DROVER_RENDER_OUTPUT_DIR": str(self._folder),
        }

    @asynccontextmanager
    async def running(self):
        await migrate(self._dsn)
        ready = []
        tasks = []
        for name in (*SERVICES, *PARTS):
            started = partial(ready.append, name)
            tasks.append(asyncio.create_task(platform.serve(self.settings(name), [name], on_ready=started)))
        try:
            await eventually(lambda: len(ready) == len(tasks) or any(task.done() for task in tasks), READY_S)
            assert not [task.result() for task in tasks if task.done()]
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def calling(self, service):
        anon, office = (issue_api_key(SECRET, role, now_s=time.time()) for role in (Role.ANON, Role.SERVICE_ROLE))
        return calling(f"http://127.0.0.1:{self.ports[service]}", anon, office)


@pytest.mark.req("EV-01", "EV-02", "EV-03")
async def test_each_service_has_all_it_needs_and_nothing_is_refused(permitted_nats, postgres_dsn, tmp_path):
    apart = Apart(permitted_nats, postgres_dsn, tmp_path)
    async with apart.running(), apart.calling("gateway") as edge, apart.calling("api") as office:
        hand = await hire(edge, "PERMITTED1")
        await order(edge, hand)
        work = await hand.work()
        assert (await hand.report(work, "running", progress_pct=50)).status == 204
        assert (await hand.complete(work)).status == 204

        render = {"composition_id": "c", "composition_name": "C", "broadcast_date": "2026-03-02", "gfx_data": GFX_DATA}
        assert (await edge.call("POST", "/rest/v1/render_queue", json=render)).status == 201

        async def taken():
            return [row["status"] for row in await edge.rows("render_queue")] not in ([], ["pending"])

        await eventually(taken, READY_S)
        alarm = {"page_id": "page-1", "user_id": "user_1"}
        assert (await edge.call("POST", "/rest/v1/alarm", json=alarm)).status == 201

        async with apart.calling("cleanup") as cleanup:
            person = {"user_id": "user_1", "remaining_tests": 3}
            assert (await cleanup.call("POST", "/api/saju/users", json=person)).status == 201
        assert (await edge.call("POST", "/rest/v1/users", json={"id": "user_2"})).status == 201
        async with apart.calling("reminder") as reminder:
            zone = {"timezone": "Europe/Berlin"}
            path = "/api/reminder/users/00000000-0000-4000-8000-000000000001/timezone"
            assert (await reminder.call("PUT", path, json=zone)).status in (200, 204)

        async def all_read():
            status = (await office.get("/api/status")).json
            led = {one["context"]: one["leader"] for one in status["partitions"]}
            return all(one["behind"] == 0 for one in status["partitions"]) and led

        led = await eventually(all_read, READY_S)
        assert led == {context: name for name, user in USERS.items() for context in user.writes}
        assert [one["refusal"] for one in (await office.get("/api/status")).json["partitions"]] == [None] * len(led)
        async with apart.calling("cleanup") as cleanup:
            health = await cleanup.get("/api/system/health")
            assert (health.status, health.json["services"]["writers"]) == (200, "connected")
        assert (await office.get("/api/system")).status == 200
        indices = (tmp_path / "archive").glob
        await eventually(lambda: len([*indices("*/index.json")]) == len(CONTEXTS), READY_S)
        done = await edge.rows("job_assignments", f"id=eq.{work['id']}")
        assert [row["status"] for row in done] == ["completed"]
    assert permitted_nats.violations() == []
