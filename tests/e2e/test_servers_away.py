"""Postgres or NATS taken away from a running platform, and given back."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import pytest

from drover.testing.waiting import eventually
from tests.e2e.process import paused

READ_S = 10.0
"""The longest that a read may take while Postgres does not answer."""
READERS = 30
"""More than the platform has connections to Postgres."""
BACK_S = 60.0


async def statuses_until(http, answered):
    """Reads, one after the other, until one of them gives this status; how often each came."""
    seen: Counter[int] = Counter()

    async def asked():
        status = (await http.get("/rest/v1/devices", timeout_s=READ_S)).status
        seen[status] += 1
        return status == answered

    await eventually(asked, BACK_S, every_s=0.02)
    return seen


@pytest.mark.req("EV-03", "DF-11")
async def test_while_postgres_hangs_the_farm_works_on_and_reads_say_so_in_time(start):
    platform = await start()
    async with platform.calling() as http:
        assert (await http.register("BEFORE0001")).status == 201
        assert len(await http.serials()) == 1
        with paused(platform.server("postgres")):

            async def read():
                began = time.monotonic()
                answer = await http.get("/rest/v1/devices")
                return answer.status, answer.headers.get("Retry-After"), time.monotonic() - began < READ_S

            async def work():
                assert (await http.register("DURING0001")).status == 201
                for _ in range(20):
                    assert (await http.beat("BEFORE0001", timeout_s=READ_S)).status == 204
                    assert (await http.beat("DURING0001", timeout_s=READ_S)).status == 204

            answers = Counter(await asyncio.gather(*(read() for _ in range(READERS)), work()))
            del answers[None]  # the work's
            assert answers == {(503, "2", True): READERS}
            # All connections hang now: those who come later wait no longer than those before them.
            assert await asyncio.gather(*(read() for _ in range(READERS))) == [(503, "2", True)] * READERS
            assert (await http.get("/livez")).status == 200
            status = await http.get("/api/status", timeout_s=READ_S)
            assert (status.status, status.json["nats"]) == (200, "connected")
            assert status.json["postgres"].startswith("unreachable")

        assert set(await statuses_until(http, 200)) <= {200, 503}

        async def caught_up():
            rows = await http.rows("devices", "select=serial_number,status&order=serial_number")
            return [tuple(row.values()) for row in rows] == [("BEFORE0001", "online"), ("DURING0001", "online")]

        await eventually(caught_up, BACK_S, every_s=0.1)


@pytest.mark.req("EV-03", "EV-10")
async def test_a_postgres_that_dies_is_started_again_and_the_read_model_catches_up(start):
    platform = await start()
    async with platform.calling() as http:
        assert (await http.register("BEFORE0001")).status == 201
        platform.server("postgres").kill()
        assert (await http.register("DURING0001")).status == 201
        assert (await http.beat("BEFORE0001")).status == 204
        assert set(await statuses_until(http, 200)) <= {200, 503}

        async def caught_up():
            return await http.serials() == ["BEFORE0001", "DURING0001"]

        await eventually(caught_up, BACK_S, every_s=0.1)
        assert (await http.get("/readyz")).status == 200


@pytest.mark.req("EV-02", "EV-10")
async def test_a_nats_server_that_dies_is_started_again_and_everybody_finds_it(start):
    platform = await start()
    async with platform.calling() as http:
        assert (await http.register("BEFORE0001")).status == 201
        dead = platform.server("nats-server")
        dead.kill()
        during = asyncio.create_task(http.register("DURING0001"))
        assert (await http.beat("BEFORE0001")).status == 204
        assert (await during).status == 201
        assert platform.server("nats-server").pid != dead.pid
        assert (await http.register("AFTER00001")).status == 201

        async def all_there_and_heard():
            assert (await http.beat("BEFORE0001")).status == 204
            rows = await http.rows("devices", "serial_number=eq.BEFORE0001")  # none until the projector is back
            return [row["status"] for row in rows] == ["online"]

        await eventually(all_there_and_heard, BACK_S, every_s=0.1)
        await http.catch_up()
        assert await http.serials() == ["AFTER00001", "BEFORE0001", "DURING0001"]
        assert (await http.get("/readyz")).status == 200
