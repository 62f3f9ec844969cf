"""The loop of the unit tests: time passes, but not while the process is kept from running."""

from __future__ import annotations

import asyncio
import time

from tests.patient_loop import TURN_S_MAX, PatientLoop

STALL_S = 0.3


async def test_a_stall_of_the_process_is_not_counted():
    loop = asyncio.get_running_loop()
    assert isinstance(loop, PatientLoop)
    await asyncio.sleep(0)
    began = loop.time()
    time.sleep(STALL_S)  # noqa: ASYNC251 - what a busy machine does to us
    await asyncio.sleep(0)
    assert loop.time() - began <= 2 * TURN_S_MAX


async def test_a_wait_takes_the_time_that_it_should():
    began, loop_began = time.monotonic(), asyncio.get_running_loop().time()
    await asyncio.sleep(0.05)
    assert time.monotonic() - began >= 0.04
    assert asyncio.get_running_loop().time() - loop_began >= 0.05


async def test_an_answer_that_a_stall_has_delayed_comes_before_a_later_timer():
    came = []
    loop = asyncio.get_running_loop()
    loop.call_later(0.1, came.append, "timer")
    loop.call_soon(time.sleep, STALL_S)
    await asyncio.sleep(0)
    for _ in range(3):  # turns of a conversation
        await asyncio.sleep(0.001)
    came.append("answer")
    await asyncio.sleep(0.2)
    assert came == ["answer", "timer"]
