"""Stories in a shop, on virtual time."""

import asyncio

import pytest

from drover.testing.virtual_time import VirtualTimeLoop
from tests.unit.render.shop import FoldersInMemory, Shop


@pytest.fixture
def in_shop():
    """Run `async def story(shop)` on virtual time; hours cost nothing."""

    def run(story):
        async def told():
            FoldersInMemory.made.clear()
            FoldersInMemory.discarded.clear()
            shop = Shop()
            try:
                result = await story(shop)
            finally:
                await shop.close()
            assert not shop.nexrender.duplicates
            return result

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            return runner.run(told())

    return run
