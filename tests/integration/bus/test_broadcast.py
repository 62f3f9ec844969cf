"""A word to whoever listens, on a real NATS."""

from __future__ import annotations

import asyncio

from drover.bus.broadcast import broadcast
from drover.bus.connection import connected


async def test_a_word_reaches_everybody_who_listens_and_nobody_else_needs_to_be_there(nats_url):
    heard: asyncio.Queue[int] = asyncio.Queue()
    async with connected(nats_url, "speaker") as speaker, connected(nats_url, "listener") as listener:
        assert await broadcast(speaker, "test.broadcast"), "nobody listens, and that is fine"
        for number in range(2):

            async def note(message, number=number):
                heard.put_nowait(number)

            await listener.subscribe("test.broadcast", cb=note)
        await listener.flush()
        assert await broadcast(speaker, "test.broadcast")
        async with asyncio.timeout(30):
            assert {await heard.get(), await heard.get()} == {0, 1}


async def test_whoever_has_lost_the_server_is_told_so(nats_url):
    async with connected(nats_url, "speaker") as speaker:
        pass
    assert not await broadcast(speaker, "test.broadcast")
