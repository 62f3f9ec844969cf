"""What a worker remembers of compositions: for an hour, or until it is told to forget (RN-13)."""

from __future__ import annotations

import asyncio

import pytest

from drover.domain.render import commands as c
from drover.domain.render.state import Status
from drover.render.composition_cache import REMEMBERED_MAX, CompositionCache
from drover.render.queue import Composition

HOUR_S = 3600


def questions(shop) -> list[float]:
    """When the workers asked the queue for a composition; grows as they do."""
    asked = []
    send = shop.office.send

    async def noted(context, command, **how):
        if isinstance(command, c.GetComposition):
            asked.append(shop.loop.time())
        return await send(context, command, **how)

    shop.office.send = noted
    return asked


async def rendered(shop) -> None:
    number = shop.request()
    await shop.until_status(Status.COMPLETED, number)


@pytest.mark.req("RN-13")
def test_a_worker_asks_for_a_composition_once_an_hour(in_shop):
    async def story(shop):
        asked = questions(shop)
        shop.start()
        await rendered(shop)
        assert len(asked) == 1
        await asyncio.sleep(HOUR_S - (shop.loop.time() - asked[0]) - 10)
        shop.request()
        await shop.until_status(Status.RENDERING, 2)
        assert shop.loop.time() - asked[0] < HOUR_S
        assert len(asked) == 1
        await shop.until_status(Status.COMPLETED, 2)
        await asyncio.sleep(max(0, HOUR_S - (shop.loop.time() - asked[0])))
        await rendered(shop)
        assert len(asked) == 2

    in_shop(story)


@pytest.mark.req("RN-13")
def test_a_worker_that_was_told_to_forget_asks_again(in_shop):
    async def story(shop):
        asked = questions(shop)
        shop.start()
        await rendered(shop)
        assert shop.workshop.compositions.clear() == 1
        await rendered(shop)
        assert len(asked) == 2

    in_shop(story)


class Answering:
    """A queue that knows every composition."""

    def __init__(self) -> None:
        self.asked = []

    async def composition(self, composition_id):
        self.asked.append(composition_id)
        return Composition(composition_id=composition_id, version=1, fields={})


async def test_what_is_remembered_has_a_bound_and_the_oldest_is_forgotten_first():
    cache, queue = CompositionCache(), Answering()
    for number in range(REMEMBERED_MAX + 1):
        await cache.get(queue, f"c{number}", 1)
    queue.asked.clear()
    for composition_id in ("c1", f"c{REMEMBERED_MAX}", "c0"):
        await cache.get(queue, composition_id, 1)
    assert queue.asked == ["c0"]
