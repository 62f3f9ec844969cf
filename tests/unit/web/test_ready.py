"""`/readyz`: the status is for who sends requests, the body for people."""

from aiohttp.test_utils import TestClient, TestServer

from drover.service.health import Health
from drover.web.application import create_application


async def test_what_is_degraded_is_said_and_only_what_fails_is_503():
    health = Health()
    degraded: str | None = None
    failing: str | None = None
    health.add_degraded("writer", lambda: degraded)
    health.add_ready("nats", lambda: failing)
    health.started()
    async with TestClient(TestServer(create_application(health, body_bytes_max=1024))) as client:

        async def ready():
            answer = await client.get("/readyz")
            return answer.status, await answer.json()

        assert await ready() == (200, {"status": "ok", "reasons": {}})
        degraded = "It cannot write."
        assert await ready() == (200, {"status": "degraded", "reasons": {"writer": degraded}})
        failing = "It is away."
        reasons = {"nats": failing, "writer": degraded}
        assert await ready() == (503, {"status": "not ok", "reasons": reasons})
        assert (await client.get("/livez")).status == 200
