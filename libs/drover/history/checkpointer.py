"""Follows a partition and saves its state every 50,000 events, for the time machine (`?as_of=`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog

from drover.domain.decider import Decider
from drover.eventlog.follow import follow
from drover.eventlog.log import EventLog, LogUnreachable, StoredCommit
from drover.history.checkpoints import FoldCheckpoints, refuse_another_past
from drover.postgres.errors import POSTGRES_AWAY
from drover.service.tasks import end
from drover.writer.fold import Fold
from drover.writer.idempotency import Remembered
from drover.writer.snapshots import Snapshotter, readable_versions

CHECKPOINT_EVERY_EVENTS: Final = 50_000
RETRY_PAUSE_S: Final = 2.0
_PASSING: Final = (*POSTGRES_AWAY, LogUnreachable)

log = structlog.get_logger("drover.history")


class Checkpointer:
    """Saves the states of one partition. Several processes may do this for the same partition: saving a state twice
    does no harm."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        checkpoints: FoldCheckpoints,
        every_events: int = CHECKPOINT_EVERY_EVENTS,
    ) -> None:
        self._decider = decider
        self._log = event_log
        self._checkpoints = checkpoints
        self._snapshots = Snapshotter(decider, event_log.partition, checkpoints, every_events)
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Checkpointer]:
        self._task = asyncio.create_task(self._run(), name=f"history of {self._decider.context}")
        try:
            yield self
        finally:
            await end(self._task)
            await self._snapshots.settle()

    async def wait_failed(self) -> None:
        assert self._task is not None
        await asyncio.shield(self._task)

    async def _run(self) -> None:
        """Follow the log, and retry while the log or Postgres is away. Any other error stops only this task, not the
        process."""
        while True:
            try:
                await self._follow()
            except _PASSING as error:
                log.warning("history_retries", context=self._decider.context, why=repr(error))
            except Exception:
                log.exception("history_stopped", context=self._decider.context)
                return
            await asyncio.sleep(RETRY_PAUSE_S)

    async def _follow(self) -> None:
        fold = await self._snapshots.load() or Fold(self._decider)
        await refuse_another_past(self._log, fold.seq, fold.commit)
        await self._checkpoints.forget_others(self._log.partition, readable_versions(self._decider))

        def keep(commit: StoredCommit) -> None:
            fold.apply(commit)
            if self._snapshots.is_due(fold):
                # Leave out the ids of answered commands: nobody repeats a command to the past.
                fold.remembered = Remembered()
                self._snapshots.take(fold)

        await follow(self._log, fold.seq, keep)
