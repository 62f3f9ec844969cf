"""Every service with its own NATS user, over TLS, and with the secrets of its container of compose: work goes through
all of them, and nothing is refused."""

from __future__ import annotations

import pytest

from drover.domain.contexts import CONTEXTS
from drover.testing.waiting import eventually
from tests.deploy.apart import READY_S, Apart
from tests.e2e.farmhand import hire, order
from tools.nats_users import USERS

GFX_DATA = {"slots": [{"slot_number": 1, "fields": {"name": "PLAYER"}}]}


@pytest.mark.req("EV-01", "EV-02", "EV-03", "SE-08", "SE-13")
async def test_each_service_has_all_it_needs_and_nothing_is_refused(permitted_nats, postgres_dsn, tmp_path):
    apart = Apart(permitted_nats, postgres_dsn, tmp_path)
    async with apart.running(), apart.calling("gateway") as edge, apart.calling("api") as office:

        async def reads():
            return (await edge.get("/readyz")).status == 200

        await eventually(reads, READY_S)  # its read models are built
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
        alarm = {"page_id": "page-1", "user_id": "user_1", "title": "Notes", "body": "The first lines"}
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
