"""What one write has acknowledged the next read shows: with another key, at another door, in another process."""

from __future__ import annotations

import asyncio
import signal
import time

import pytest

from drover.testing.waiting import eventually
from drover.web.freshness import SOFT_WAIT_S
from tests.e2e.read_after_write import MANY_SIGN_INS, doors_apart, doors_of, tried

TRIES = 250
"""Every read was stale before reads waited. `make bench ONLY=freshness` tries a thousand at 500 events a second."""


@pytest.mark.slow
@pytest.mark.req("DI-07")
async def test_in_one_process_no_read_misses_a_write_whoever_wrote_it(start):
    async with doors_of(await start(**MANY_SIGN_INS)) as doors:
        assert (await tried(doors, TRIES)).stale == {}


@pytest.mark.slow
@pytest.mark.req("DI-07")
async def test_with_two_gateways_and_the_api_apart_no_read_misses_a_write(farm):
    async with doors_apart(farm) as doors:
        assert (await tried(doors, TRIES)).stale == {}


@pytest.mark.slow
@pytest.mark.req("DI-07")
async def test_with_a_projector_that_stopped_reads_say_so_and_soon_wait_no_more(farm):
    edge, projector, _ = await asyncio.gather(farm.serve("gateway"), farm.serve("projector"), farm.serve("scheduler"))
    async with farm.calling(edge) as http:

        async def read():
            started = time.monotonic()
            answer = await http.get("/rest/v1/devices?select=serial_number", anon=True)
            assert answer.status == 200, answer
            return answer, time.monotonic() - started

        async def is_fresh():
            return "Drover-Behind" not in (await read())[0].headers

        assert (await http.register("BEFORE0001")).status == 201
        await eventually(is_fresh)
        projector.send(signal.SIGSTOP)
        try:
            began = time.monotonic()
            made = await http.register("AFTER00001")
            first, _ = await read()
            assert first.headers["Drover-Behind"] == made.headers["Drover-Position"]
            # Either it has waited, or the read model was behind for so long already.
            assert time.monotonic() - began > 0.9 * SOFT_WAIT_S
            assert [row["serial_number"] for row in first.json] == ["BEFORE0001"]
            later = [(await read()) for _ in range(10)]
            assert all("Drover-Behind" in answer.headers for answer, _ in later)
            assert sorted(took_s for _, took_s in later)[5] < SOFT_WAIT_S, "the lag is known: nobody waits"
            assert (await http.get(f"/rest/v1/rpc/why?device_id={'0' * 8}-0000-7000-8000-{'0' * 12}")).status == 404
        finally:
            projector.send(signal.SIGCONT)
        await eventually(is_fresh)
        assert await http.status_of("AFTER00001") is not None
