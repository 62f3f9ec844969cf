"""While this process leads: follows the logs of all contexts, and hands their alerts to the delivery queues.

It starts at the settled position in the ledger, or at the end of a log that has none: alerts from before the notifier
was set up are not sent. Only the notifier service runs this: rebuilds, imports and verifications send nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import structlog

from drover.domain.severity import CRITICAL, WARNING
from drover.eventlog.follow import follow
from drover.eventlog.histories import commit_at
from drover.eventlog.log import EventLog, LogUnreachable, StoredCommit
from drover.notifier import metrics
from drover.notifier.alert_reader import notices
from drover.notifier.checkpoint import Checkpoint
from drover.notifier.delivery_queue import DeliveryQueue
from drover.notifier.ledger import Ledger, LedgerTrouble, Position, Taken
from drover.service.tasks import end
from drover.writer.lease import Lease

SAVE_EVERY_S: Final = 5.0
TROUBLE_PAUSE_S: Final = 1.0

log = structlog.get_logger("drover.notifier")


class Reactor:
    def __init__(
        self,
        logs: Mapping[str, EventLog],
        ledger: Ledger,
        lease: Lease,
        queues: Callable[[], Sequence[DeliveryQueue]],
        *,
        held: Collection[str] = (),
        critical_only: bool = False,
    ) -> None:
        """`queues`: makes the delivery queues, each time this process becomes the leader. `held`: contexts whose alerts
        are not sent."""
        self._logs = logs
        self._ledger = ledger
        self._lease = lease
        self._queues = queues
        self._held = held
        self._severities = (CRITICAL,) if critical_only else (CRITICAL, WARNING)
        self._checkpoints: dict[str, list[Checkpoint]] = {}
        """The checkpoints of each context, one per delivery queue and severity."""
        self._saved: dict[str, int] = {}
        self._leading = False
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the reactor. On exit, let the current sends finish, and release the lease at once."""
        self._task = asyncio.create_task(self._run(), name="notifier")
        try:
            yield
        finally:
            self._stop.set()
            await self._ended()

    async def _ended(self) -> None:
        assert self._task is not None
        if self._leading:
            await asyncio.wait([self._task])
        await end(self._task)

    async def wait_failed(self) -> None:
        assert self._task is not None
        await asyncio.shield(self._task)

    async def _run(self) -> None:
        while not self._stop.is_set():
            await self._lease.acquire()
            self._leading = True
            metrics.LEADING.set(1)
            log.info("delivering_alerts", contexts=sorted(self._logs))
            try:
                async with self._lease.renewing() as lost:
                    await self._term(lost)
            finally:
                self._leading = False
                metrics.LEADING.set(0)
                await self._lease.release()

    async def _term(self, lost: asyncio.Event) -> None:
        """Lead until the lease is lost, the process stops, or an error occurs that only a new start can fix."""
        self._checkpoints = {}
        queues = self._queues()
        async with AsyncExitStack() as stack:
            for queue in queues:
                await stack.enter_async_context(queue.running())
            watched = [
                asyncio.create_task(self._save_often(), name="positions"),
                *(asyncio.create_task(self._follow(one, queues), name=f"alerts of {one}") for one in self._logs),
                *(asyncio.create_task(queue.wait_failed()) for queue in queues),
            ]
            over = [asyncio.create_task(event.wait()) for event in (lost, self._stop)]
            try:
                done, _ = await asyncio.wait([*watched, *over], return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            except Taken:
                log.warning("led_by_another")
            finally:
                await end(*watched, *over)
        if not lost.is_set():
            await self._save_last()

    async def _follow(self, context: str, queues: Sequence[DeliveryQueue]) -> None:
        position = await self._begin(context)
        if context in self._held:
            await asyncio.Event().wait()  # until a restart without the hold
        self._saved[context] = position
        # Each queue has its own readers, so that a full queue does not block the others: one for each severity, so that
        # a flood of warnings does not keep a critical alert in the log.
        readers = [(queue, severity, Checkpoint(position)) for severity in self._severities for queue in queues]
        self._checkpoints[context] = [checkpoint for _, _, checkpoint in readers]
        async with asyncio.TaskGroup() as group:
            for queue, severity, checkpoint in readers:
                group.create_task(self._feed(context, position, queue, severity, checkpoint))

    async def _feed(
        self, context: str, position: int, queue: DeliveryQueue, severity: str, checkpoint: Checkpoint
    ) -> None:
        async def offer(commit: StoredCommit) -> None:
            for notice in notices(context, commit):
                if notice.severity == severity:
                    await queue.offer(notice, checkpoint.opened(commit.seq))
            checkpoint.read(commit.seq)

        await follow(self._logs[context], position, offer)

    async def _begin(self, context: str) -> int:
        while True:
            try:
                return await self._first(context)
            except (LogUnreachable, LedgerTrouble) as error:
                log.warning("start_delayed", context=context, error=repr(error))
                await asyncio.sleep(TROUBLE_PAUSE_S)

    async def _first(self, context: str) -> int:
        position, log_end = await self._ledger.position(context), await self._logs[context].context_end()
        if position is not None and context not in self._held:
            if (why := await self._other_history(context, position, log_end)) is None:
                return position.seq
            log.warning("log_of_another_history", context=context, why=why, begins_after=log_end)
        # The log was never read, or is held, or is of another history: alerts in it may have been sent before.
        log.info("begins_at_the_end", context=context, seq=log_end, held=context in self._held)
        await self._set_position(context, log_end)
        return log_end

    async def _other_history(self, context: str, position: Position, log_end: int) -> str | None:
        """Return why the log is not the one that was read up to this position. None: it is, as far as we know."""
        if position.seq > log_end:
            return f"it ends at {log_end}, and was read up to {position.seq}"
        found = await commit_at(self._logs[context], position.seq) if position.commit else None
        if found is None or found.id == position.commit:
            return None
        return f"at {position.seq} it has the commit {found.id or 'of another program'}, and had {position.commit}"

    async def _set_position(self, context: str, seq: int) -> None:
        commit = await commit_at(self._logs[context], seq) if seq else None
        await self._ledger.set_position(context, Position(seq, "" if commit is None else commit.id))

    async def _save_often(self) -> None:
        while True:
            await asyncio.sleep(SAVE_EVERY_S)
            try:
                await self._save()
            except (LedgerTrouble, LogUnreachable) as error:
                log.warning("position_not_saved", error=repr(error))

    async def _save(self) -> None:
        """Save the position up to which all queues have settled their notices. The ledger knows which later notices
        were sent."""
        for context, checkpoints in self._checkpoints.items():
            position = min(checkpoint.position for checkpoint in checkpoints)
            if position != self._saved[context]:
                await self._set_position(context, position)
                self._saved[context] = position

    async def _save_last(self) -> None:
        try:
            await self._save()
        except (LedgerTrouble, LogUnreachable, Taken) as error:
            # Reading resumes at the last saved position; the ledger shows which notices are already settled.
            log.info("position_not_saved", error=repr(error))
