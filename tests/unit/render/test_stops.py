"""Stops that are owed: each try counts, so none is wasted; and one that fails is no harm to the others."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from drover.domain.errors import DroverError
from drover.domain.render import commands as c
from drover.domain.render import events as e
from drover.domain.render.state import Status
from drover.nas.naming import final_name
from drover.nas.store import NasAway
from drover.render.nexrender.errors import NexrenderRefused
from drover.render.queue import Queue
from drover.render.stops import Stops


async def cancelled(shop, count):
    """So many renders that somebody had, all cancelled."""
    for _ in range(count):
        render_id = shop.request()
        shop.office.do(c.Claim(f"w{render_id}"))
        shop.office.do(c.CancelRender(render_id))


@pytest.fixture
def stops():
    return lambda shop: Stops(Queue(shop.office, "w9"), shop.workshop)


async def for_hours(shop, stops, hours, *, every_s=30):
    for _ in range(int(hours * 3600 / every_s)):
        with suppress(DroverError):  # it is tried again anyway
            await stops.carry_out()
        await asyncio.sleep(every_s)


@pytest.mark.req("RN-02", "RN-12")
def test_nexrender_that_is_down_for_a_night_uses_up_no_tries(in_shop, stops):
    async def story(shop):
        await cancelled(shop, 3)
        shop.nexrender.down = True
        ours = stops(shop)
        await for_hours(shop, ours, 10)
        assert not shop.office.told(e.StopClaimed, e.StopAbandoned)
        shop.nexrender.down = False
        assert await ours.carry_out() == 3

    in_shop(story)


@pytest.mark.req("RN-02", "RN-12")
def test_nor_does_a_nas_that_is_away(in_shop, stops):
    async def story(shop):
        await cancelled(shop, 3)
        remove, free = shop.nas.remove, shop.nas.free_bytes

        async def away(*_, **__):
            raise NasAway("remove", "x", "unreachable")

        shop.nas.remove = shop.nas.free_bytes = away
        ours = stops(shop)
        await for_hours(shop, ours, 10)
        assert [event.tries for event in shop.office.told(e.StopClaimed)] == [1, 1, 1], "once, to find out"
        shop.nas.remove, shop.nas.free_bytes = remove, free
        assert await ours.carry_out() == 3

    in_shop(story)


@pytest.mark.req("RN-02")
@pytest.mark.parametrize("error", [NexrenderRefused("remove", 405, "no such thing"), ValueError("a bug"), OSError(5)])
def test_one_that_fails_again_and_again_keeps_nobody_from_the_others_and_does_not_spin(in_shop, stops, error):
    async def story(shop):
        await cancelled(shop, 3)
        remove, bad = shop.nexrender.remove, shop.office.render(1).uid

        async def sometimes(uid):
            if uid == bad:
                raise error
            await remove(uid)

        shop.nexrender.remove = sometimes
        assert await stops(shop).carry_out() == 2
        assert len(shop.office.told(e.StopClaimed)) == 3
        await for_hours(shop, stops(shop), 1)
        (abandoned,) = shop.office.told(e.StopAbandoned)
        assert abandoned.uid == bad

    in_shop(story)


@pytest.mark.req("RN-02", "RN-08")
def test_a_server_that_removes_no_jobs_does_not_keep_the_file_of_a_cancelled_render(in_shop, stops):
    async def story(shop):
        shop.request()
        shop.start()
        await shop.until_status(Status.RENDERING)
        shop.office.do(c.CancelRender(1))
        render = shop.office.render()
        final = final_name(render.broadcast_date, render.composition, 1)
        shop.nas.stored[final] = b"film"

        async def refuse(uid):
            raise NexrenderRefused("remove", 405, "Method Not Allowed")

        shop.nexrender.remove = refuse
        await stops(shop).carry_out()
        assert not shop.nas.stored
        assert render.uid in shop.folders.discarded

    in_shop(story)


@pytest.mark.req("RN-02")
def test_a_stop_that_takes_longer_than_its_claim_is_left_to_the_next(in_shop, stops):
    async def story(shop):
        await cancelled(shop, 1)
        hanging = shop.nexrender.remove

        async def never(uid):
            await asyncio.sleep(1e9)

        shop.nexrender.remove = never
        began = shop.loop.time()
        assert await stops(shop).carry_out() == 0
        assert shop.loop.time() - began < 60
        shop.nexrender.remove = hanging
        await asyncio.sleep(60)
        assert await stops(shop).carry_out() == 1

    in_shop(story)
