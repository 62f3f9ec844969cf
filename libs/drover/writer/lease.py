"""The port of a lease: who may try to write to a partition. The log itself fences writers that lost theirs."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Lease(Protocol):
    @property
    def trouble(self) -> str | None:
        """Why the last try to take or renew it failed; None: it succeeded."""

    def is_valid(self) -> bool:
        """True only if nobody else can hold the lease now, even if the network is down."""

    async def acquire(self) -> None:
        """Wait until it is ours."""

    def renewing(self) -> AbstractAsyncContextManager[asyncio.Event]:
        """Renew in the background. The event is set when the lease is lost."""

    async def release(self) -> None:
        """Give the lease up, so that another process can take it at once. Harmless if we no longer hold it."""
