"""Calls that may hang: whoever waits for them is told in time, and what hangs is bounded."""

import asyncio
import threading
from types import SimpleNamespace

import pytest

from drover.nas import blocking
from drover.nas.blocking import Abandoned, Blocking, Pulse
from drover.testing.waiting import eventually

SHORT_S = 0.05
"""Hanging is found out after so long. Nothing else in these tests depends on it."""


@pytest.fixture
def stuck():
    """Something that a call hangs in until the test lets it go."""
    event = threading.Event()
    yield event
    event.set()


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "test call"]


async def test_a_call_returns_what_it_returns_and_raises_what_it_raises():
    calls = Blocking("test")
    assert await calls.run(lambda _: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await calls.run(lambda _: 1 // 0)


async def test_a_call_that_hangs_is_given_up(stuck):
    with pytest.raises(TimeoutError, match="no progress"):
        await Blocking("test", stall_s=SHORT_S).run(lambda _: stuck.wait())
    stuck.set()
    await eventually(lambda: not threads())


async def test_a_call_that_gives_signs_of_life_may_take_longer(stuck, monkeypatch):
    clock = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(blocking, "time", clock)

    def slowly(pulse):
        for _ in range(20):
            clock.now += 0.9 * SHORT_S
            pulse.beat()
            stuck.wait(SHORT_S / 4)  # so that the one who waits has a look meanwhile
        return "done"

    assert await Blocking("test", stall_s=SHORT_S).run(slowly) == "done"
    assert clock.now > 100 + 10 * SHORT_S


async def test_but_not_for_ever(stuck):
    def endlessly(pulse):
        while not stuck.wait(SHORT_S / 4):
            pulse.beat()

    with pytest.raises(TimeoutError, match="too long"):
        await Blocking("test", longest_s=4 * SHORT_S).run(endlessly)
    await eventually(lambda: not threads())


async def test_a_call_that_was_given_up_ends_at_its_next_sign_of_life_and_knows_that_it_is_lost(stuck):
    pulses, ends = [], []

    def hang(pulse: Pulse):
        pulses.append(pulse)
        stuck.wait()
        try:
            pulse.beat()
        except Abandoned:
            ends.append(pulse.lost)
            raise

    with pytest.raises(TimeoutError):
        await Blocking("test", stall_s=SHORT_S).run(hang)
    stuck.set()
    await eventually(lambda: ends == [True])


async def test_what_could_free_a_hanging_call_is_done(stuck):
    def hang(pulse):
        pulse.when_lost(stuck.set)
        stuck.wait()

    with pytest.raises(TimeoutError):
        await Blocking("test", stall_s=SHORT_S).run(hang)
    await eventually(lambda: not threads())


async def test_what_could_free_it_is_done_at_once_if_it_is_lost_already():
    pulse, freed = Pulse(), []
    pulse.lose()
    pulse.when_lost(lambda: freed.append(True))
    assert freed == [True]


async def test_with_too_many_calls_hanging_no_further_one_is_tried(stuck, monkeypatch):
    monkeypatch.setattr(blocking, "HANGING_MAX", 2)
    calls = Blocking("test", stall_s=SHORT_S)
    for _ in range(2):
        with pytest.raises(TimeoutError, match="no progress"):
            await calls.run(lambda _: stuck.wait())
    with pytest.raises(TimeoutError, match="2 earlier calls hang"):
        await calls.run(lambda _: 7)
    stuck.set()

    async def tried_again():
        try:
            return await calls.run(lambda _: 7)
        except TimeoutError:
            return None

    assert await eventually(tried_again) == 7


async def test_no_more_calls_than_allowed_are_under_way_at_the_same_time(stuck):
    calls, started = Blocking("test"), []

    def wait(_):
        started.append(1)
        stuck.wait()

    running = [asyncio.create_task(calls.run(wait)) for _ in range(blocking.CALLS_MAX + 3)]
    await eventually(lambda: len(started) == blocking.CALLS_MAX)
    assert len(threads()) == blocking.CALLS_MAX
    stuck.set()
    await asyncio.gather(*running)
    assert len(started) == blocking.CALLS_MAX + 3


async def test_a_cancelled_call_cleans_up_before_its_caller_goes_on(stuck):
    cleaned, begun = [], threading.Event()

    def call(pulse):
        try:
            while True:
                begun.set()
                pulse.beat()
        finally:
            pulse.still_alive()
            cleaned.append(pulse.lost)

    running = asyncio.create_task(Blocking("test").run(call))
    await eventually(begun.is_set)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cleaned == [False]


@pytest.mark.parametrize("times", [1, 2])
async def test_a_cancelled_call_that_hangs_does_not_hold_its_caller_up(stuck, times):
    pulses = []

    def call(pulse):
        pulses.append(pulse)
        stuck.wait()

    running = asyncio.create_task(Blocking("test", stall_s=SHORT_S if times == 1 else 60).run(call))
    await eventually(lambda: pulses)
    for _ in range(times):
        running.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert pulses[0].lost
