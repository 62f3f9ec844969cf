"""Knows the processes that run writers of a context (they announce themselves on `peers.<context>`), and chooses which
of them should lead a partition.

Processes that received the same announcements choose the same leader. They may disagree for a second. Then the
partition still has only one leader, because only the holder of the lease leads; this module only says who should take
it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.bus.subscription import subscribed
from drover.service.tasks import in_background

ANNOUNCE_EVERY_S: Final = 1.0
HEARD_FOR_S: Final = 3.5
"""A process whose last announcement is older than this many seconds counts as stopped."""
PEERS_MAX: Final = 1_000

log = structlog.get_logger("drover.writer")


class Peer(msgspec.Struct, frozen=True):
    """What a process announces about itself."""

    instance: str
    ready: tuple[str, ...]
    """Partitions that the process leads or could lead at once. Empty: it can lead none, or it is stopping."""


_decode: Final = msgspec.json.Decoder(Peer).decode


class Peers:
    """The processes that run writers of one context, as this process knows them."""

    def __init__(
        self, context: str, instance: str, partitions: Sequence[str], clock_s: Callable[[], float] | None = None
    ) -> None:
        self.instance = instance
        self._subject = f"peers.{context}"
        self._numbers = {name: number for number, name in enumerate(partitions)}
        self._clock_s = clock_s or (lambda: asyncio.get_running_loop().time())
        self._heard: dict[str, tuple[float, frozenset[str]]] = {}
        self.ready: set[str] = set()
        """Partitions that this process leads or could lead now."""
        self._changed = asyncio.Event()

    def enlist(self, partition: str) -> None:
        """Announce that this process could lead the partition now."""
        if partition not in self.ready:
            self.ready.add(partition)
            self._changed.set()

    def withdraw(self, partition: str) -> None:
        """Announce that this process cannot lead the partition now."""
        if partition in self.ready:
            self.ready.discard(partition)
            self._changed.set()

    def owner(self, partition: str) -> str:
        """Return the process that should lead the partition. The processes that could lead it are sorted by name, and
        partition number `n` goes to the `n`-th of them, counted round and round."""
        since = self._clock_s() - HEARD_FOR_S
        able = {name for name, (at, ready) in self._heard.items() if at >= since and partition in ready}
        candidates = sorted(able | {self.instance})
        return candidates[self._numbers[partition] % len(candidates)]

    def hear(self, peer: Peer) -> None:
        if peer.instance == self.instance:
            return
        if not peer.ready:
            self._heard.pop(peer.instance, None)
        elif peer.instance in self._heard or len(self._heard) < PEERS_MAX:
            self._heard[peer.instance] = (self._clock_s(), frozenset(peer.ready))

    @asynccontextmanager
    async def running(self, client: Client) -> AsyncIterator[None]:
        async def on_message(message: Msg) -> None:
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                self.hear(_decode(message.data))

        async with subscribed(client, self._subject, on_message):
            try:
                async with in_background(self._keep_announcing(client), name=self._subject):
                    yield
            finally:
                self.ready.clear()
                await self._announce(client)  # tell the others at once, so that they need not wait for HEARD_FOR_S

    async def _keep_announcing(self, client: Client) -> None:
        while True:
            if self.ready or self._changed.is_set():
                await self._announce(client)
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(ANNOUNCE_EVERY_S):
                    await self._changed.wait()

    async def _announce(self, client: Client) -> None:
        with suppress(NatsError, OSError):
            await client.publish(self._subject, msgspec.json.encode(Peer(self.instance, tuple(sorted(self.ready)))))
