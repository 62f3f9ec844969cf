"""The port of a lease: who may try to write a partition. It decides who *tries*; the log itself fences zombies."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Lease(Protocol):
    @property
    def trouble(self) -> str | None:
        """Why the last try to take or renew it failed; None: it did not."""

    def is_valid(self) -> bool:
        """Nobody else can hold the lease now, whatever the network does."""

    async def acquire(self) -> None:
        """Wait until it is ours."""

    def renewing(self) -> AbstractAsyncContextManager[asyncio.Event]:
        """Renew in the background. The event that this gives is set when the lease is lost."""

    async def release(self) -> None:
        """Hand over at once. Harmless if it is not ours any more."""
