"""The ways in which a platform ends, and what the next start on its directory finds."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

import aiohttp
import pytest

from drover.cli.exits import Exit
from drover.testing.waiting import eventually
from tests.e2e.up import Platform

STARTED_S = 60.0
SIMULATED_PHONES = 120
CALLERS = 8
ACKNOWLEDGED_MIN = 200


@pytest.mark.req("EV-10")
async def test_ctrl_c_stops_all_of_it_and_the_next_start_goes_on(start):
    first = await start("--demo", from_scratch=True)
    async with first.calling() as http:
        assert (await http.register("STAYING001")).status == 201

        async def all_there():
            serials = await http.serials()
            return serials if len(serials) == SIMULATED_PHONES + 1 else None

        known = await eventually(all_there, every_s=0.1)
        position = await http.log_position()
    keys = first.credentials

    first.interrupt_as_a_terminal_does()
    assert await first.ended() == 0
    assert "Traceback" not in first.output

    second = await start()
    assert {name: second.credentials[name] for name in keys if name != "url"} == {
        name: value for name, value in keys.items() if name != "url"
    }
    async with second.calling() as http:
        await http.catch_up()
        assert await http.serials() == known
        assert await http.log_position() > position
        assert (await http.register("AFTERWARDS")).status == 201
        assert (await http.beat("STAYING001")).status == 204
        ordinals = [event["n"] for event in await http.rows("events", "context=eq.fleet&select=n&order=n")]
        assert ordinals == list(range(1, len(ordinals) + 1)), "one log, without a gap"


@pytest.mark.req("EV-10")
async def test_ctrl_c_while_it_is_starting_leaves_no_process_and_the_next_start_works(tmp_path, start):
    early = Platform(tmp_path / "data", from_scratch=True)
    try:
        await eventually(lambda: "embedded_server_started" in early.output, STARTED_S)
        early.interrupt_as_a_terminal_does()
        assert await early.ended() == Exit.INTERRUPTED
        assert "Traceback" not in early.output
    finally:
        await early.end()

    async with (await start()).calling() as http:
        assert (await http.register("AFTERWARDS")).status == 201


@pytest.mark.req("EV-02", "EV-10")
async def test_killed_amid_registrations_it_leaves_no_process_and_loses_nothing_acknowledged(start):
    first = await start(from_scratch=True)
    tried: list[str] = []
    acknowledged: list[str] = []

    async def register_for_ever(http):
        with suppress(aiohttp.ClientError, OSError):  # the platform is gone
            while True:
                tried.append(serial := f"KILLED{len(tried):06}")
                if (await http.register(serial)).status == 201:
                    acknowledged.append(serial)

    async with first.calling() as http:
        callers = [asyncio.create_task(register_for_ever(http)) for _ in range(CALLERS)]
        await eventually(lambda: len(acknowledged) >= ACKNOWLEDGED_MIN)
        first.send(signal.SIGKILL)
        assert await first.ended() == -signal.SIGKILL
        await asyncio.gather(*callers)

    second = await start()
    async with second.calling() as http:
        await http.catch_up()
        there = await http.serials()
        assert len(there) == len(set(there))
        assert set(acknowledged) <= set(there) <= set(tried)
        recorded = await http.rows("events", "type=eq.DeviceRegistered&select=data")
        assert sorted(event["data"]["serial_number"] for event in recorded) == there
        assert (await http.register("AFTERWARDS")).status == 201
