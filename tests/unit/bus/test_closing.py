"""A client that is reconnecting is closed without its own cancellation reaching us."""

from __future__ import annotations

import asyncio

import pytest

from drover.bus.connection import close


class Reconnecting:
    """Like nats-py: another task waits for the end of the connection, and is cancelled by `close`, which waits for the
    same future."""

    def __init__(self):
        self.ended = asyncio.get_running_loop().create_future()
        self.is_waiting = asyncio.Event()

    async def close(self):
        self.is_waiting.set()
        await self.ended


async def test_a_wait_that_nats_py_has_cancelled_ends_nothing_of_ours():
    client = Reconnecting()
    closing = asyncio.create_task(close(client))
    await client.is_waiting.wait()
    client.ended.cancel()
    await closing


async def test_who_is_cancelled_while_closing_is_cancelled():
    client = Reconnecting()
    closing = asyncio.create_task(close(client))
    await client.is_waiting.wait()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
