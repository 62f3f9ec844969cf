"""Who asks for metrics."""

from __future__ import annotations

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.service.health import Health
from drover.web.application import create_application


@pytest.mark.req("EV-07")
async def test_metrics_are_for_those_who_ask_the_process_itself():
    async with TestClient(TestServer(create_application(Health(), body_bytes_max=1024))) as client:
        assert (await client.get("/metrics")).status == 200
        for header in ("X-Forwarded-For", "x-forwarded-for", "Forwarded"):
            assert (await client.get("/metrics", headers={header: "192.0.2.7"})).status == 404
        assert (await client.get("/readyz", headers={"X-Forwarded-For": "192.0.2.7"})).status != 404
