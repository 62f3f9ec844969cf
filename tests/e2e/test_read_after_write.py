"""What one write has acknowledged the next read shows: with another key, at another door, in another process."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from contextlib import AsyncExitStack
from itertools import count, cycle

import pytest

from drover.testing.waiting import eventually

TRIES = 1_000
LANES = 4
"""Callers at the same time. Each writes and then reads at once, over connections of its own."""
BEHIND_MAX = 50
"""Answers that say by themselves that they may be stale do not count. On a busy machine there may be a few."""


async def devices_over_rest(http, serial, device_id):
    answer = await http.get(f"/rest/v1/devices?serial_number=eq.{serial}", anon=True)
    return answer, [row["serial_number"] for row in answer.json] == [serial]


async def devices_over_api(http, serial, device_id):
    answer = await http.get(f"/api/devices?serial={serial}")
    return answer, [row["serial_number"] for row in answer.json["items"]] == [serial]


async def why_over_rest(http, serial, device_id):
    answer = await http.get(f"/rest/v1/rpc/why?device_id={device_id}")
    return answer, answer.status == 200


async def change_over_rest(http, serial, device_id):
    """A change looks for the device in the gateway's memory."""
    path = f"/rest/v1/devices?serial_number=eq.{serial}"
    answer = await http.call("PATCH", path, json={"capabilities": ["camera"]})
    return answer, answer.status == 204


EVERY_DOOR = (devices_over_rest, devices_over_api, why_over_rest, change_over_rest)


async def stale_reads(writer, doors):
    """Write with the service key, then read at the next door. The doors whose answers missed the write."""
    stale, behind, tried, numbers, turns = Counter(), 0, 0, count(), cycle(doors)

    async def lane():
        nonlocal behind, tried
        while tried < TRIES:
            serial, (http, read) = f"FRESH{next(numbers):06}", next(turns)
            made = await writer.register(serial, headers={"Prefer": "return=representation"})
            assert made.status == 201, made
            answer, shown = await read(http, serial, made.json[0]["id"])
            if "Drover-Behind" in answer.headers:
                behind += 1
                continue
            assert answer.status in (200, 204, 404), answer
            tried += 1
            stale[read.__name__] += not shown

    await asyncio.gather(*(lane() for _ in range(LANES)))
    assert behind <= BEHIND_MAX
    return +stale


@pytest.mark.slow
@pytest.mark.req("DI-07")
async def test_in_one_process_no_read_misses_a_write_whoever_wrote_it(start):
    platform = await start()
    async with platform.calling() as http:
        doors = [(http, read) for read in EVERY_DOOR]
        assert await stale_reads(http, doors) == {}


@pytest.mark.slow
@pytest.mark.req("DI-07")
async def test_with_two_gateways_and_the_api_apart_no_read_misses_a_write(farm):
    first, second, api, _, _ = await asyncio.gather(
        farm.serve("gateway", name="first"),
        farm.serve("gateway", name="second"),
        farm.serve("api"),
        farm.serve("scheduler"),
        farm.serve("projector"),
    )
    async with AsyncExitStack() as stack:
        writer, reader, office = [await stack.enter_async_context(farm.calling(one)) for one in (first, second, api)]
        doors = [(office if read is devices_over_api else reader, read) for read in EVERY_DOOR]
        assert await stale_reads(writer, doors) == {}


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
            made = await http.register("AFTER00001")
            first, first_s = await read()
            assert first.headers["Drover-Behind"] == made.headers["Drover-Position"]
            assert 0.9 < first_s < 2.5
            assert [row["serial_number"] for row in first.json] == ["BEFORE0001"]
            later = [(await read()) for _ in range(10)]
            assert all("Drover-Behind" in answer.headers for answer, _ in later)
            assert sorted(took_s for _, took_s in later)[5] < 0.5, "the lag is known: nobody waits"
            assert (await http.get(f"/rest/v1/rpc/why?device_id={'0' * 8}-0000-7000-8000-{'0' * 12}")).status == 404
        finally:
            projector.send(signal.SIGCONT)
        await eventually(is_fresh)
        assert await http.status_of("AFTER00001") is not None
