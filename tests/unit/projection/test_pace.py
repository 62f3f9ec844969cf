"""The pause between two batches, and the reads that cut it short."""

from __future__ import annotations

import asyncio

import pytest

from drover.projection.pace import Pace

LONG_S = 3_600.0


@pytest.mark.req("DI-07")
async def test_a_read_that_waits_for_a_later_commit_ends_the_pause():
    pace = Pace(LONG_S)
    pausing = asyncio.create_task(pace.pause(7))
    await asyncio.sleep(0)
    pace.hurry(7)
    await asyncio.sleep(0)
    assert not pausing.done(), "the batch that is being written has it"
    pace.hurry(8)
    await pausing


async def test_a_request_that_came_before_the_pause_counts():
    pace = Pace(LONG_S)
    pace.hurry(8)
    await pace.pause(7)


async def test_a_request_ends_one_pause_even_if_its_position_never_comes():
    pace = Pace(LONG_S)
    pace.hurry(1_000_000)
    await pace.pause(7)
    pausing = asyncio.create_task(pace.pause(8))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not pausing.done()
    pausing.cancel()


async def test_without_a_request_it_pauses_for_its_time():
    loop = asyncio.get_running_loop()
    started = loop.time()
    await Pace(0.05).pause(7)
    assert loop.time() - started >= 0.05
