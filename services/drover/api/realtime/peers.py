"""Sends messages to the other processes that serve Realtime, in order. A full queue drops new messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.api.realtime.limits import PEER_QUEUE_MAX
from drover.api.realtime.metrics import PEER_MESSAGES_DROPPED
from drover.api.realtime.rooms import Rooms
from drover.bus.realtime import PeerMessage, following_peers, tell_peers
from drover.service.tasks import end

log = structlog.get_logger("drover.realtime")


class Peers:
    def __init__(self, client: Client, rooms: Rooms) -> None:
        self._client = client
        self._rooms = rooms
        self._queue: asyncio.Queue[PeerMessage] = asyncio.Queue(PEER_QUEUE_MAX)
        rooms.tell = self._tell

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with following_peers(self._client, self._rooms.hear):
            task = asyncio.create_task(self._send(), name="realtime-peers")
            try:
                yield
            finally:
                await end(task)
                await self._publish(self._rooms.farewell())

    def _tell(self, message: PeerMessage) -> None:
        try:
            self._queue.put_nowait(message)
        except asyncio.QueueFull:
            PEER_MESSAGES_DROPPED.inc()

    async def _send(self) -> None:
        while True:
            await self._publish(await self._queue.get())

    async def _publish(self, message: PeerMessage) -> None:
        try:
            await tell_peers(self._client, message)
        except (NatsError, OSError) as error:
            PEER_MESSAGES_DROPPED.inc()
            log.warning("peers_not_told", error=repr(error))
