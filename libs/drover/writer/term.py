"""A term: the time in which a writer leads. It lasts from its first commit until the lease is lost, the log refuses a
commit, or the process stops."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final, Generic, TypeVar

from uuid_utils import uuid4, uuid7

from drover.bus.messages import NOT_LEADER
from drover.domain.decider import Decider
from drover.domain.event import TermStarted
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, EventLog, LogFull
from drover.service import tracing
from drover.writer import metrics, refusals
from drover.writer.answers import Answers
from drover.writer.clock import Clock
from drover.writer.fold import Fold
from drover.writer.intake import Intake, Pending
from drover.writer.lease import Lease
from drover.writer.partition_time import PartitionTime
from drover.writer.quarantine import Quarantine
from drover.writer.refusals import Refusal
from drover.writer.room import Room
from drover.writer.snapshots import Snapshotter
from drover.writer.spans import record_decided
from drover.writer.ticks import TickPending, Ticks
from drover.writer.turn import (
    FIRST_COMMANDS_MAX,
    TURN_COMMANDS_MAX,
    EvolveFault,
    Turn,
    decide_into,
)

IDLE_MAX_S: Final = 30.0
"""An idle writer checks the clock at least this often (in seconds), because timers of the event loop stop while a
machine sleeps."""
STEPS_TO_THE_SOCKET: Final = 3
"""How many iterations of the event loop it takes until the bytes of a new append are sent: for its task, for the
publish, and for the flusher of nats-py."""

S = TypeVar("S")


class Term(Generic[S]):
    """Runs one decider as the leader of its partition. The object is discarded at the end of the term.

    At most one commit is being stored at a time. Commands that arrive meanwhile are decided, in order, on the state
    after it, and form the next commit. So the state is ahead of the log by up to two commits. If another leader has
    written to the log, both commits are void, and this object must not be used any more.

    If the log is full, the term goes on as read-only: it answers commands that record no event, and refuses all others
    with LOG_FULL. It tries to store another `TermStarted`; once that succeeds, the term is no longer read-only.
    """

    def __init__(
        self,
        decider: Decider[S],
        event_log: EventLog,
        fold: Fold[S],
        lease: Lease,
        intake: Intake,
        clock: Clock,
        *,
        time_: PartitionTime,
        epoch: int,
        reload: Callable[[int], Awaitable[Fold[S]]],
        snapshotter: Snapshotter,
        committed: Callable[[int], None],
    ) -> None:
        """`committed`: called with the sequence of each commit, before the callers of its commands are answered.
        `reload`: loads the state again, up to a sequence."""
        self.decider = decider
        self.fold = fold
        self.epoch = epoch
        self._log = event_log
        self._lease = lease
        self._intake = intake
        self._time = time_
        self._reload = reload
        self._snapshotter = snapshotter
        self._committed = committed
        self._ticks = Ticks(decider, clock)
        self._quarantine = Quarantine(decider.context)
        self._codec = Codec.of(decider)
        self._answers = Answers(decider, event_log, lease, self._codec)
        self._gathering = Turn()
        """The next turn: its commands are decided, and wait until the commit before them is stored."""
        self._flight: asyncio.Task[int] | None = None
        self._flight_id = ""
        """The id of the commit that is being stored."""
        self._sent: Turn | None = None
        self._draining = False
        self._over = False
        self._holder = ""
        self.room = Room(event_log.partition, clock)
        self.ended_clean = False
        """Whether the term ended with a state equal to the log's, so that a standby can continue with it."""

    async def open(self, holder: str) -> None:
        """Store the first commit of the term. Raises if another writer wrote meanwhile: then the term never began. If
        the log is full, the term begins as read-only."""
        self._holder = holder
        try:
            await self._start()
        except LogFull as full:
            self.room.refused(full)
        self._intake.open()

    async def _start(self) -> None:
        now, epoch, holder = self._time.start_term(self.fold.at), self.fold.epoch + 1, self._holder
        event = TermStarted(
            epoch,
            holder,
            ahead_s=self._time.ahead_s,
            n=self.fold.n + 1,
            at=now,
            by=f"writer:{holder}",
            cause=str(uuid7()),
        )
        commit = Commit(str(uuid4()), epoch, self._codec.encode([event]))
        seq = await self._log.append(commit, self.fold.seq)
        self.fold.begin_term(event)
        self.fold.state = self.decider.evolve(self.fold.state, event)
        self.fold.commit = commit.id
        self.fold.seq, self.fold.n, self.fold.at = seq, event.n, now
        self.epoch = epoch
        metrics.EPOCH.labels(self.decider.context, self._log.partition.name).set(epoch)
        metrics.POSITION.labels(self.decider.context, self._log.partition.name).set(seq)
        self._committed(seq)  # also announces earlier commits: the leader before may have died before it did so

    async def _look_for_room(self) -> None:
        """If the log is full and it is time to look for room, try to store another first commit of the term."""
        if not self.room.is_full or self.room.look_in_s:
            return
        self._now()  # raises if the clock was set meanwhile: the next term then compares it with NATS's clock
        try:
            await self._start()
        except LogFull as full:
            self.room.refused(full)
        else:
            self.room.found()

    async def _void_what_did_not_fit(self) -> bool:
        """If the log was too full for the commit that was being stored, go back to the state before it, and put its
        commands and those after it back into the queue. They are decided again, as read-only. Return False if the log
        was not too full."""
        if self._flight is None or not self._flight.done() or self._flight.cancelled():
            return False
        if not isinstance(full := self._flight.exception(), LogFull):
            return False
        assert self._sent is not None
        self._put_back([*self._sent.taken, *self._gathering.taken])
        self._flight = self._sent = None
        self._gathering = Turn()
        self.room.refused(full)
        self.fold = await self._reload(self.fold.seq)
        return True

    def _put_back(self, taken: Sequence[Pending]) -> None:
        """Put commands back to the front of the queue, to be decided again. Ticks are dropped."""
        self._intake.waiting.extendleft(pending for pending in reversed(taken) if not isinstance(pending, TickPending))

    def end(self) -> None:
        """End the term, because the lease is lost: stop after the commit that is being stored. Waiting commands get
        NOT_LEADER."""
        self._over = True
        self._intake.close()
        self._intake.arrived.set()

    def drain(self) -> None:
        """End the term after all waiting commands are decided and answered."""
        self._draining = True
        self._intake.close()
        self._intake.arrived.set()

    async def run(self) -> None:
        """Decide commands until `end` or `drain` is called. Raises AppendConflict if another leader wrote to the
        log."""
        try:
            while not self._over:
                await self._void_what_did_not_fit()
                await self._look_for_room()
                if not self._next_can_go():
                    await self._decide()
                answerable = self._advance()
                if self._intake.probes and (answerable is not None or self._flight is None):
                    # Answer probes like commands without events: after the commit that was in flight.
                    self._intake.answer_probes(self._refusal())
                if answerable is not None:
                    try:
                        await self._let_the_commit_out()
                    finally:  # also when cancelled: answer the commands whose commit is stored
                        self._answers.give(answerable)
                elif not await self._wait_for_work():
                    return
        finally:
            await self._close()

    def _refusal(self) -> Refusal | None:
        """Return why a command that arrives now would be refused, or None."""
        partition = self._log.partition
        if not self._intake.is_open or not self._lease.is_valid():
            return refusals.term_over(partition)
        if self._lease.trouble is not None:
            return refusals.lease_not_renewed(partition, self._lease.trouble)
        if self._intake.is_full or self.fold.remembered.is_full:
            return refusals.overloaded(partition)
        return self.room.refusal

    async def _let_the_commit_out(self) -> None:
        """Let the event loop send the new commit before the callers get their answers: hundreds of them would run
        first."""
        if self._flight is not None:
            for _ in range(STEPS_TO_THE_SOCKET):
                await asyncio.sleep(0)

    def _next_can_go(self) -> bool:
        """Whether the last commit is stored and the next turn is ready to be sent. Then the turn is sent before more
        commands are decided, so that the disk need not wait."""
        return bool(self._gathering.payload) and self._flight is not None and self._flight.done()

    async def _decide(self) -> None:
        """Decide waiting commands and add them to the turn, until it is full."""
        now = self._now()
        ticking = not self._draining and not self.room.is_full and self._ticks.is_due(self.fold.state, now)
        waiting = self._intake.waiting
        if not (waiting or ticking) or self._gathering.is_full or self._snapshotter.is_due(self.fold):
            return
        metrics.WAITING.labels(self.decider.context, self._log.partition.name).set(len(waiting))
        if ticking:
            waiting.appendleft(tick := TickPending())
        turn, first, started = self._gathering, len(self._gathering.taken), time.perf_counter()
        try:
            commands_max = TURN_COMMANDS_MAX
            if self._flight is None:
                # Room for at least one more command, so that a tick always fits.
                commands_max = max(FIRST_COMMANDS_MAX, len(self._gathering.taken) + 1)
            decide_into(
                self._gathering,
                self.decider,
                self.fold,
                waiting,
                now=now,
                barred=self._quarantine.keys,
                commands_max=commands_max,
                read_only=self.room.is_full,
            )
        except EvolveFault as fault:
            await self._recover(fault.pending)
            if ticking and fault.pending is tick:
                # Wait before the next tick: it would fail again at once.
                self._ticks.note(tick, self._gathering, self.fold.state, now)
            return
        if ticking:
            assert tick in self._gathering.taken
            self._ticks.note(tick, self._gathering, self.fold.state, now)
        if tracing.recorder is not None:
            record_decided(turn.taken[first:], self.decider.context, started)

    def _advance(self) -> Turn | None:
        """If no commit is being stored, send the gathered turn. Return a turn whose commands can be answered now; None
        if there is none."""
        answerable = None
        if self._flight is not None:
            if not self._flight.done():
                return None
            answerable = self._land()
        turn = self._gathering
        if not turn.payload and self._snapshotter.is_due(self.fold):
            # No commit is being stored and no command is decided, so the fold equals the log.
            self._snapshotter.take(self.fold)
        if turn.payload:
            self._gathering = Turn()
            self._sent = turn
            self.fold.remembered.absorb(self.fold.at, turn.ids)
            turn.sent_at = time.perf_counter()
            commit = Commit(str(uuid4()), self.epoch, bytes(turn.payload))
            self._flight_id = commit.id
            self._flight = asyncio.create_task(self._log.append(commit, self.fold.seq))
            self._flight.add_done_callback(lambda _: self._intake.arrived.set())
        elif turn.taken and answerable is None:
            self._gathering = Turn()
            answerable = turn
        return answerable

    def _land(self) -> Turn:
        """Handle the result of the commit that was being stored: raise its error, or note its position. Return its
        turn, whose commands can be answered."""
        assert self._flight is not None
        assert self._sent is not None
        turn, flight = self._sent, self._flight
        seq = flight.result()
        self._flight = self._sent = None
        self.room.used()
        turn.mark.seq = self.fold.seq = seq
        self.fold.commit = self._flight_id
        self._committed(seq)
        context = self.decider.context
        turn.landed_at = time.perf_counter()
        metrics.COMMIT_SECONDS.labels(context).observe(turn.landed_at - turn.sent_at)
        metrics.EVENTS.labels(context).inc(turn.events)
        metrics.POSITION.labels(context, self._log.partition.name).set(seq)
        metrics.REMEMBERED.labels(context, self._log.partition.name).set(len(self.fold.remembered))
        return turn

    async def _wait_for_work(self) -> bool:
        """Wait for a command, the end of a commit, or a deadline. Return False if the term is draining and nothing is
        left to do."""
        arrived = self._intake.arrived
        idle = self._flight is None and not self._gathering.taken and not self._intake.waiting
        if self._draining and idle:
            return False
        arrived.clear()
        if self._over or (self._flight is not None and self._flight.done()):
            return True
        if self._flight is None and self._intake.waiting:
            return True
        wake_at = self._ticks.wake_at(self.fold.state)
        delay = IDLE_MAX_S
        if self.room.is_full:  # ticks wait until there is room
            wake_at, delay = None, self.room.look_in_s
        if wake_at is not None and not self._draining:
            # An overdue tick waits while a commit is being stored; the end of that commit wakes this loop.
            overdue = wake_at <= (now := self._now())
            if overdue and self._flight is None:
                return True
            if not overdue:
                delay = min((wake_at - now).total_seconds(), IDLE_MAX_S)
        timer = asyncio.get_running_loop().call_later(delay, arrived.set)
        try:
            await arrived.wait()
        finally:
            timer.cancel()
        return True

    async def _close(self) -> None:
        """Wait for the commit that is being stored, and answer its commands. All commands without a stored commit get
        NOT_LEADER, which callers always retry."""
        self._over = True
        self._intake.close()
        if self._flight is not None and not self._flight.done():
            await asyncio.wait((self._flight,))
        if self._flight is not None and self._flight.exception() is None:
            self._answers.give(self._land())
        self.ended_clean = self._flight is None and not self._gathering.payload
        for turn in (self._sent, self._gathering):
            for pending in turn.taken if turn else ():
                pending.settle(NOT_LEADER)
        self._intake.turn_away()
        self._intake.answer_probes(refusals.term_over(self._log.partition))
        await self._answers.close()

    async def _recover(self, culprit: Pending) -> None:
        """Load the state from the log again, because `evolve` failed for an event. The command of that event is refused
        from now on; the other commands of the unsent turn are decided again."""
        self._quarantine.add(culprit)
        void, self._gathering = self._gathering, Turn()
        self._put_back(void.taken)
        if self._flight is not None:
            await asyncio.wait((self._flight,))
        if not await self._void_what_did_not_fit():
            if self._flight is not None:
                self._answers.give(self._land())
            self.fold = await self._reload(self.fold.seq)

    def _now(self) -> datetime:
        return self._time.now(self.fold.at)
