"""Nudges: wakes workers when the log of `render` gets a commit. A nudge is only a hint, never a fact.

Subscribers of a stream's subject also receive messages that the stream then refuses. So a woken worker asks the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg

from drover.bus.subscription import subscribed

CLEAR_CACHE: Final = "render.cache.clear"
_NEW_WORK: Final = (b'"RenderRequested"', b'"RenderRequeued"')
_TAKEN_AWAY: Final = (b'"RenderCancelled"', b'"RenderRequeued"', b'"RenderFailed"')


class Nudges:
    """Wakes the tasks of this process that wait for new work or for stops (jobs to remove). There is one for each
    process."""

    def __init__(self, on_taken_away: Callable[[], None], on_clear_cache: Callable[[], object]) -> None:
        self._on_taken_away = on_taken_away
        self._on_clear_cache = on_clear_cache
        self._work = asyncio.Event()
        self._stops = asyncio.Event()

    def heard(self, commit: bytes) -> None:
        if any(mark in commit for mark in _NEW_WORK):
            self.poll_now()
        if any(mark in commit for mark in _TAKEN_AWAY):
            self._on_taken_away()
            self._stops.set()

    def poll_now(self) -> None:
        """Wake all workers that wait for work."""
        waiting, self._work = self._work, asyncio.Event()
        waiting.set()

    def ticket(self) -> asyncio.Event:
        """Return an event that the next nudge sets. Get it before asking the queue for work, so that no nudge is
        missed."""
        return self._work

    async def for_work(self, ticket: asyncio.Event, timeout_s: float) -> None:
        await _within(ticket, timeout_s)

    async def for_stops(self, timeout_s: float) -> None:
        await _within(self._stops, timeout_s)
        self._stops.clear()

    @asynccontextmanager
    async def running(self, client: Client) -> AsyncIterator[None]:
        async def on_commit(message: Msg) -> None:
            self.heard(message.data)

        async def on_clear(message: Msg) -> None:
            self._on_clear_cache()

        async with subscribed(client, "evt.render.>", on_commit), subscribed(client, CLEAR_CACHE, on_clear):
            yield


async def _within(event: asyncio.Event, timeout_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
