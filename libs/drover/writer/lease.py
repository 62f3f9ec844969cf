"""The interface of a lease. It decides which process may write to a partition. A process that has lost the lease
without noticing does no harm: the log refuses its commits once the next holder has written."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Lease(Protocol):
    @property
    def trouble(self) -> str | None:
        """Why the last try to take or renew the lease failed; None: it succeeded."""

    def is_valid(self) -> bool:
        """Whether it is certain that no other process holds the lease now, even if the network is down."""

    async def acquire(self) -> None:
        """Wait until this process holds the lease."""

    def renewing(self) -> AbstractAsyncContextManager[asyncio.Event]:
        """Renew the lease while the block runs. The event is set when the lease is lost."""

    async def release(self) -> None:
        """Give the lease up, so that another process can take it at once. Harmless if we no longer hold it."""
