"""A lease in memory, for tests without a NATS server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class LocalLease:
    """A lease that is taken by acquiring an asyncio lock. Leases with the same lock exclude each other. `lose()` takes
    the lease away, as if it had expired."""

    def __init__(self, lock: asyncio.Lock | None = None) -> None:
        self._lock = lock or asyncio.Lock()
        self._held = False
        self._valid = False
        self._lost = asyncio.Event()
        self.trouble: str | None = None

    def is_valid(self) -> bool:
        return self._valid

    async def acquire(self) -> None:
        await self._lock.acquire()
        self._held = self._valid = True
        self._lost.clear()

    @asynccontextmanager
    async def renewing(self) -> AsyncIterator[asyncio.Event]:
        yield self._lost

    async def release(self) -> None:
        self._valid = False
        if self._held:
            self._held = False
            self._lock.release()

    def suspend(self) -> None:
        """Make renewals fail from now on, so that the lease is about to expire."""
        self._valid = False

    def lose(self) -> None:
        self._valid = False
        self._lost.set()
