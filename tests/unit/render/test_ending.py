"""Workers that are stopped, and faults of this program: nobody claims on the way out, and nobody dies in silence."""

from __future__ import annotations

import asyncio

import pytest

from drover.domain.render import commands as c
from drover.domain.render import events as e
from drover.domain.render.polling import Pace
from drover.domain.render.state import Status
from drover.render.workers import Workers
from tests.unit.render.shop import stuck_in


@pytest.mark.req("RN-02", "RN-04")
@pytest.mark.parametrize("turns", range(12))
def test_a_worker_that_is_stopped_just_as_its_render_is_cancelled_does_stop(in_shop, turns):
    async def story(shop):
        shop.request()
        worker = shop.start()
        await shop.until_status(Status.RENDERING)
        shop.office.do(c.CancelRender(1))
        for _ in range(turns):
            await asyncio.sleep(0)
        worker.cancel()
        shop.request()
        await asyncio.wait({worker}, timeout=60)
        assert worker.cancelled()
        assert [event.render_id for event in shop.office.told(e.RenderClaimed)] == [1], "nothing new was claimed"

    in_shop(story)


@pytest.mark.parametrize("call", ["claim", "details", "fault", "hand_back"])
def test_a_fault_of_this_program_does_not_end_a_worker(in_shop, call):
    async def story(shop):
        worker = shop.worker()
        works, broken = getattr(worker.queue, call), [True]

        async def breaks_once(*arguments, **named):
            if broken:
                broken.clear()
                raise ValueError("a bug")
            return await works(*arguments, **named)

        setattr(worker.queue, call, breaks_once)
        if call == "fault":
            object.__setattr__(shop.workshop, "validate", None)  # another one, that it would report
        shop.request()
        working = shop.spawn(worker.work())
        shop.spawn(shop.office.clock())
        if call == "hand_back":
            await shop.until_status(Status.RENDERING)
            shop.office.do(c.ReleaseRender(1))
        if call == "fault":
            await shop.until(lambda: not broken)
        else:
            await shop.until(lambda: shop.office.render().status in (Status.COMPLETED, Status.FAILED))
        await asyncio.sleep(60)
        assert not working.done()

    in_shop(story)


class Line:
    """A connection to NATS that brings nothing."""

    async def subscribe(self, subject, cb):
        return self

    async def unsubscribe(self):
        pass


@pytest.mark.req("RN-03", "RN-04")
@pytest.mark.parametrize("moment", ["rendering", "submitting", "copying"])
def test_leaving_hands_back_what_each_worker_has_in_its_hands(in_shop, moment):
    async def story(shop):
        for _ in range(3):
            shop.request()
        workers = Workers(shop.office, shop.workshop, shop.signs, ["a", "b", "c"], Pace)
        shop.spawn(shop.office.clock())
        stuck = {
            "submitting": lambda: stuck_in(shop.nexrender, "submit"),
            "copying": lambda: stuck_in(shop.nas, "put"),
            "rendering": lambda: None,
        }[moment]()
        async with workers.running(Line()):
            if stuck is not None:
                await shop.until(stuck.reached.is_set)
            else:
                await shop.until_status(Status.RENDERING, 3)
            held = dict(shop.office.scenario.state.held)
            assert held
        assert not shop.office.scenario.state.held
        assert {event.reason for event in shop.office.told(e.RenderRequeued)} == {"handed_back"}

    in_shop(story)


@pytest.mark.req("RN-04")
def test_leaving_while_the_queue_is_away_takes_seconds(in_shop):
    async def story(shop):
        shop.request()
        workers = Workers(shop.office, shop.workshop, shop.signs, ["a"], Pace)
        async with workers.running(Line()):
            await shop.until_status(Status.RENDERING)
            answer = shop.office.send
            shop.office.send = lambda *_, **__: asyncio.sleep(1e9)
            began = shop.loop.time()
        assert shop.loop.time() - began < 10
        shop.office.send = answer

    in_shop(story)
