"""The lines that the process leading the queue logs, from a real writer on a real log."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
import structlog

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.domain.render import commands as c
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.render.app import render_writer
from drover.render.audit import Audit
from drover.render.settings import RenderPolicySettings
from drover.testing.waiting import eventually
from drover.writer.nats_writer import prepare


@pytest.mark.req("DI-20", "RN-16", "RN-20")
async def test_a_worker_that_falls_silent_is_logged_by_the_queue(own_nats):
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connected(own_nats.url, "test"))
        await prepare(client, ("render",))
        writer = render_writer(client, RenderPolicySettings(render_lease_s=1.0), instance="test")
        await stack.enter_async_context(writer.running())
        with structlog.testing.capture_logs() as lines:
            await stack.enter_async_context(Audit(JetStreamLog(client, Partition("render")), writer).running())
            bus = CommandBus(client)
            await bus.send("render", c.RequestRender("comp", "g1", "sealed", composition="Chips"), by="test")
            await bus.send("render", c.Claim("ae-1"), by="test")
            await eventually(lambda: any(line["event"] == "worker_crashed" for line in lines))
        found = [line for line in lines if line["event"] in ("stuck_jobs_released", "worker_crashed")]
    recovery, crash = found
    assert (recovery["log_level"], recovery["jobs"]) == ("warning", [1])
    assert (crash["log_level"], crash["worker"], crash["job"]) == ("error", "ae-1", 1)
    assert crash["error"] == "Worker ae-1 did not renew its lease in time"
