"""Runs the rounds of all contexts at an interval, in the process that holds the lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog
from nats.errors import Error as NatsError

from drover.archiver import metrics
from drover.archiver.context_archiver import ContextArchiver
from drover.domain.errors import DroverError
from drover.postgres.errors import POSTGRES_AWAY
from drover.service.reasons import reason_of
from drover.service.tasks import end, in_background
from drover.writer.lease import Lease

TROUBLE_PAUSE_S: Final = 1.0
"""The pause after an error, before the lease is asked for again."""

log = structlog.get_logger("drover.archiver")


class Archiver:
    def __init__(self, contexts: Sequence[ContextArchiver], lease: Lease, *, every_s: float) -> None:
        """`every_s`: the pause between the rounds."""
        self._contexts = contexts
        self._lease = lease
        self._every_s = every_s
        self._failed: dict[str, str] = {}
        """By context, why its last round failed."""
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        metrics.LEADING.set(0)
        async with in_background(self._run(), name="archiver") as self._task:
            yield

    async def wait_failed(self) -> None:
        assert self._task is not None
        await asyncio.shield(self._task)

    def why_not_ready(self) -> str | None:
        failed = "; ".join(f"{context}: {why}" for context, why in self._failed.items())
        return f"The log is not archived: {failed}" if failed else None

    async def _run(self) -> None:
        while True:
            try:
                await self._lease.acquire()
                await self._lead()
            except (DroverError, NatsError, OSError) as error:
                log.warning("archiver_waits", error=repr(error))
                await asyncio.sleep(TROUBLE_PAUSE_S)
            finally:
                self._failed.clear()  # failures are now reported by the next leader
                metrics.LEADING.set(0)
                await self._lease.release()

    async def _lead(self) -> None:
        log.info("archiver_leads")
        metrics.LEADING.set(1)
        async with self._lease.renewing() as lost:
            rounds = asyncio.create_task(self._rounds())
            losing = asyncio.create_task(lost.wait())
            try:
                await asyncio.wait((rounds, losing), return_when=asyncio.FIRST_COMPLETED)
                if rounds.done():
                    await rounds
            finally:
                await end(rounds, losing)

    async def _rounds(self) -> None:
        while True:
            for context in self._contexts:
                await self._round(context)
            await asyncio.sleep(self._every_s)

    async def _round(self, archiver: ContextArchiver) -> None:
        """Run the round of one context. A failure is reported, and does not stop the rounds of other contexts."""
        try:
            await archiver.round()
        except (DroverError, NatsError, OSError, *POSTGRES_AWAY) as error:
            why = str(error) if isinstance(error, DroverError) else reason_of(error)
            log.error("archiving_failed", context=archiver.context, error=why, alert=True)
            metrics.FAILURES.labels(archiver.context).inc()
            self._failed[archiver.context] = why
        else:
            with suppress(KeyError):
                del self._failed[archiver.context]
