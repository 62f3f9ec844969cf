"""A lease whose holder hands it over to the process that should have it (`peers`). So the partitions spread over all
processes, also when processes start or stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from drover.service.tasks import in_background
from drover.writer.lease import Lease
from drover.writer.peers import Peers

LOOK_EVERY_S: Final = 0.5
STEADY_S: Final = 3.0
"""For how many seconds another process must be the one that should lead, before the lease is handed over to it. So a
short restart does not move all partitions."""
GIVE_WAY_S: Final = 5.0
"""For how many seconds after a hand-over this process does not try to take the lease back. Then it competes again."""

log = structlog.get_logger("drover.writer")


class SharedLease:
    """Wraps the lease of one partition. Only the holder itself hands it over; other processes cannot take it away."""

    def __init__(self, lease: Lease, partition: str, peers: Peers) -> None:
        self._lease = lease
        self._partition = partition
        self._peers = peers
        self._gave_way = False

    @property
    def trouble(self) -> str | None:
        return self._lease.trouble

    def is_valid(self) -> bool:
        return self._lease.is_valid()

    @property
    def _is_ours(self) -> bool:
        return self._peers.owner(self._partition) == self._peers.instance

    async def acquire(self) -> None:
        self._peers.enlist(self._partition)  # when a writer calls this, its state is at the end of the log
        if self._gave_way:
            with suppress(TimeoutError):
                async with asyncio.timeout(GIVE_WAY_S):
                    while not self._is_ours:  # noqa: ASYNC110 - it changes as time passes, too
                        await asyncio.sleep(LOOK_EVERY_S)
            self._gave_way = False
        await self._lease.acquire()

    @asynccontextmanager
    async def renewing(self) -> AsyncIterator[asyncio.Event]:
        async with self._lease.renewing() as lost, in_background(self._watch(lost)):
            yield lost

    async def _watch(self, lost: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        ours_at = loop.time()
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._is_ours:
                ours_at = loop.time()
            elif loop.time() - ours_at >= STEADY_S:
                to = self._peers.owner(self._partition)
                log.info("lease_given_away", partition=self._partition, to=to)
                self._gave_way = True
                lost.set()
                return

    async def release(self) -> None:
        await self._lease.release()
        # After a term the state may be ahead of the log, and is then loaded again. Only after that the writer acquires
        # the lease again.
        self._peers.withdraw(self._partition)
