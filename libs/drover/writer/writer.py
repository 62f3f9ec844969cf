"""The life of a writer: load the state, follow the log as a standby, take the lease, lead for a term, hand over,
repeat."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from typing import Any, Final, Generic, TypeVar

import structlog
from msgspec import UNSET
from nats.errors import Error as NatsError
from uuid_utils import uuid7

from drover.bus.messages import Outcome, Submission
from drover.domain.decider import Command, Decider
from drover.domain.errors import Code, DroverError
from drover.eventlog.follow import follow
from drover.eventlog.histories import OfAnotherHistory, refuse_another_history
from drover.eventlog.log import AppendConflict, EventLog, LogUnreachable, StoredCommit
from drover.service.tasks import end, in_background
from drover.writer import metrics, refusals
from drover.writer.clock import Clock, SystemClock
from drover.writer.fold import Fold
from drover.writer.intake import Intake, LocalPending, Probe
from drover.writer.lease import Lease
from drover.writer.loading import Loader
from drover.writer.nats_lease import ClockSkewed
from drover.writer.partition_time import ClockStepped, PartitionTime
from drover.writer.refusals import Refusal
from drover.writer.snapshots import Snapshotter
from drover.writer.term import Term

S = TypeVar("S")

RETRY_PAUSE_S: Final = 1.0
OPENING_TRIES_MAX: Final = 20
"""How many times a writer tries to open a term. A try fails if the leader before writes at the same time. It has lost
its lease and stops after the commit that it is storing, so a few tries are enough."""
OTHER_HISTORY_PAUSE_S: Final = 10.0
PROBE_S: Final = 1.5
"""How many seconds a healthy writer takes at most to come to its next command, or to store a commit. If it takes
longer, `probe` reports a fault."""
DRAIN_S: Final = 8.0
"""How many seconds a stopping writer goes on to decide waiting commands. The rest get NOT_LEADER. It must be shorter
than `shutdown_grace_s`, after which the process abandons the writer."""

_ENDED: Final = {AppendConflict: "fenced", ClockStepped: "clock"}
"""By type of the exception that ended a term, the reason as the metric names it."""

log = structlog.get_logger("drover.writer")

Serve = Callable[["Writer[Any]", int], AbstractAsyncContextManager[None]]
"""A function that is called with (writer, epoch) and returns a context manager. It receives the commands of other
processes for the length of its block, which is the term with this epoch."""


class WriterFailed(DroverError):
    """A writer failed and cannot recover by itself."""


class Writer(Generic[S]):
    """The writer of one partition in this process: the leader or a warm standby."""

    def __init__(
        self,
        decider: Decider[S],
        event_log: EventLog,
        lease: Lease,
        snapshotter: Snapshotter,
        *,
        instance: str,
        clock: Clock | None = None,
        serve: Serve = lambda writer, epoch: nullcontext(),
        committed: Callable[[int], None] = lambda seq: None,
        intake: Intake | None = None,
    ) -> None:
        """`committed`: called with the sequence of each commit, before the callers of its commands are answered."""
        self.decider = decider
        self.partition = event_log.partition
        self.instance = instance
        self.leading = asyncio.Event()
        """Set while this process leads the partition."""
        self._log = event_log
        self._lease = lease
        self._snapshotter = snapshotter
        self._loader = Loader(decider, event_log, snapshotter)
        self._clock = clock or SystemClock()
        self._time = PartitionTime(self._clock)
        self._serve = serve
        self._committed = committed
        self.intake = intake or Intake()
        self.intake.overflowed = metrics.REFUSALS.labels(decider.context, Code.OVERLOADED).inc
        self.loaded = asyncio.Event()
        """Set once the state was at the end of the log for the first time."""
        self._fold: Fold[S] | None = None
        """The state of a standby, at the end of the log. None: it is still being loaded, or this process leads."""
        self._other_history: OfAnotherHistory | None = None
        self._term: Term[S] | None = None
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def state(self) -> S | None:
        """The decider's state while this process leads or follows; None before it is loaded."""
        fold = self._term.fold if self._term else self._fold
        return fold.state if fold else None

    @property
    def is_sole_leader(self) -> bool:
        """Whether this process leads, and it is certain that no other process does now. If so, its state is the
        newest."""
        return self.leading.is_set() and self._lease.is_valid()

    @property
    def ahead_s(self) -> float:
        """How far the partition's time is ahead of the wall clock, while this process leads."""
        return self._time.ahead_s

    @property
    def epoch(self) -> int:
        return self._term.epoch if self._term else 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Writer[S]]:
        """Run the writer while the block runs. On exit, commit and answer the accepted commands, then release the
        lease."""
        metrics.start_counters_at_zero(self.partition.context)
        metrics.LEADER.labels(self.partition.context, self.partition.name).set(0)
        metrics.READ_ONLY.labels(self.partition.context, self.partition.name).set(0)
        self._task = asyncio.create_task(self._run(), name=f"writer-{self.partition.context}")
        try:
            yield self
        finally:
            await self.stop()

    async def stop(self) -> None:
        self._stopping.set()
        if self._term is not None:
            self._term.drain()
        if self._task is None:
            return
        await asyncio.wait((self._task,), timeout=DRAIN_S)
        if not self._task.done():
            log.error("writer_did_not_drain", context=self.partition.context)
        elif not self._task.cancelled() and (error := self._task.exception()) is not None:
            log.warning("writer_ended", context=self.partition.context, error=repr(error))
        await end(self._task)

    async def wait_failed(self) -> None:
        """Wait until the writer fails, then raise its error."""
        assert self._task is not None
        await asyncio.shield(self._task)

    def submit(
        self, command: Command, *, by: str, id: str | None = None, trace: str | None = None
    ) -> asyncio.Future[Outcome]:
        """Put a command from within this process into the queue. Return a future with its outcome."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        submission = Submission(id or str(uuid7()), by, command, UNSET if trace is None else trace)
        self.intake.put(LocalPending(submission, future))
        return future

    def refusal(self) -> Refusal | None:
        """Return why this process cannot accept commands. None: there is no reason, but this process need not be the
        leader.

        The reasons are: a commit was not acknowledged within PROBE_S, the lease cannot be taken or renewed, the
        snapshots belong to another log, or the log is full.
        """
        if self._other_history is not None:
            return refusals.other_history(self.partition, self._other_history)
        unsettled = self._log.unsettled
        if unsettled is not None and (for_s := time.monotonic() - unsettled.since_s) > PROBE_S:
            return refusals.append_unsettled(self.partition, for_s, unsettled.last_result)
        if self._lease.trouble is not None:
            return refusals.lease_not_renewed(self.partition, self._lease.trouble)
        return self._term.room.refusal if self._term is not None else None

    def why_not_ready(self) -> str | None:
        """Return why this process could not lead at once. None: it leads, or its state is at the end of the log."""
        if self._term is not None or self._fold is not None:
            return None
        return self._loader.progress()

    async def probe(self) -> Refusal | None:
        """Ask the loop that decides commands whether it would accept one now, and return the reason why not. None: it
        would. Returns within PROBE_S."""
        probe: Probe = asyncio.get_running_loop().create_future()
        self.intake.put_probe(probe)
        try:
            async with asyncio.timeout(PROBE_S):
                return await probe
        except TimeoutError:
            return self.refusal() or refusals.stuck(self.partition, PROBE_S)

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                await self._follow_then_lead()
            except AppendConflict:
                log.warning("term_fenced", context=self.partition.context)
                self._fold = None
            except OfAnotherHistory as error:
                # Try again later: a person may restore the log or remove the snapshots meanwhile.
                self._other_history, self._fold = error, None
                log.error("writer_refuses_to_lead", context=self.partition.context, error=str(error), alert=True)
                with suppress(TimeoutError):
                    async with asyncio.timeout(OTHER_HISTORY_PAUSE_S):
                        await self._stopping.wait()
            except (LogUnreachable, NatsError, ClockSkewed, ClockStepped) as error:
                log.error("writer_waits", context=self.partition.context, error=f"{type(error).__name__}: {error}")
                with suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_PAUSE_S):
                        await self._stopping.wait()

    async def _follow_then_lead(self) -> None:
        if self._fold is None and not await self._load_until_stopped():
            return
        assert self._fold is not None
        if not await self._win_while_following(self._fold):
            await self._lease.release()  # we may have acquired it at the moment of the stop
            return
        try:
            await self._lead(self._fold)
        finally:
            self.leading.clear()
            self._term = None
            metrics.LEADER.labels(self.partition.context, self.partition.name).set(0)
            metrics.AHEAD_SECONDS.labels(self.partition.context, self.partition.name).set(0)
            metrics.READ_ONLY.labels(self.partition.context, self.partition.name).set(0)
            self.intake.close()
            self.intake.turn_away()
            await self._lease.release()
            await self._snapshotter.settle()

    async def _load_until_stopped(self) -> bool:
        """Load the state. Return False if this process was asked to stop meanwhile, because loading a long log would
        take too long."""
        loading = asyncio.create_task(self._loader.load())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((loading, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not loading.done():
                await end(loading)
                # Wait for a snapshot in progress, so that the next start continues there.
                await self._snapshotter.settle()
                return False
            self._fold = await loading
            self._other_history = None
            self.loaded.set()
            return True
        finally:
            await end(loading, stopping)

    async def _win_while_following(self, fold: Fold[S]) -> bool:
        """Follow the log until this process holds the lease. Return False if this process was asked to stop."""
        winning = asyncio.create_task(self._lease.acquire())
        following = asyncio.create_task(self._follow(fold))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((winning, following, stopping), return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                if winning.done() and not winning.exception():
                    await self._lease.release()  # a writer that cannot read must not lead
                await following
            if winning.done():
                await winning
            return winning.done()
        finally:
            await end(winning, following, stopping)

    async def _follow(self, fold: Fold[S]) -> None:
        position = metrics.POSITION.labels(self.partition.context, self.partition.name)

        def take(commit: StoredCommit) -> None:
            fold.apply(commit)
            self._time.heard(fold.at)
            position.set(fold.seq)

        await follow(self._log, fold.seq, take)

    async def _lead(self, fold: Fold[S]) -> None:
        term = await self._open_term(fold)
        context, name = self.partition.context, self.partition.name
        log.info("term_started", context=context, partition=name, epoch=term.epoch, position=term.fold.seq)
        if self._time.ahead_s:
            log.warning("partition_time_ahead", context=context, partition=name, ahead_s=self._time.ahead_s, alert=True)
        metrics.AHEAD_SECONDS.labels(context, name).set(self._time.ahead_s)
        metrics.LEADER.labels(context, name).set(1)
        self._term = term
        self._fold = None  # the term changes the fold, which may then be ahead of the log
        if self._stopping.is_set():
            term.drain()
        ended = "stopped"
        try:
            async with (
                self._lease.renewing() as lost,
                self._serve(self, term.epoch),
                in_background(_end_when(lost, term)),
            ):
                self.leading.set()
                await term.run()
            if not self._stopping.is_set():
                ended = "lease_lost"
        except Exception as error:
            ended = _ENDED.get(type(error), "fault")
            raise
        finally:
            metrics.TERMS.labels(context, ended).inc()
        if term.ended_clean:
            self._fold = term.fold

    async def _open_term(self, fold: Fold[S]) -> Term[S]:
        # NATS may have come back with other files while this process stood by.
        await refuse_another_history(
            self._log,
            seq=fold.seq,
            commit=fold.commit,
            what="The state of this process",
            remedy="wait: this process loads its state again.",
        )
        for _ in range(OPENING_TRIES_MAX):
            last = await self._log.last()
            await follow(self._log, fold.seq, fold.apply, until=last.seq if last else 0)
            term = Term(
                self.decider,
                self._log,
                fold,
                self._lease,
                self.intake,
                self._clock,
                time_=self._time,
                epoch=fold.epoch + 1,
                reload=self._loader.reload,
                snapshotter=self._snapshotter,
                committed=self._committed,
            )
            with suppress(AppendConflict):
                await term.open(self.instance)
                return term
        raise WriterFailed(f"{self.partition.subject}: another writer keeps writing to this partition")


async def _end_when(lost: asyncio.Event, term: Term[Any]) -> None:
    await lost.wait()
    term.end()
