"""The rules of docs/agents.md for one phone: what its agent sends, and when. No I/O and no clock. After a crash, only
its store remains.

It sends heartbeats and work (polls and reports) independently, at most one unanswered action of each. So neither a slow
report nor a throttled poll delays heartbeats.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final, Protocol

from drover.agent.backoff import UNREACHABLE_AFTER_S, AgentBackoff
from drover.agent.observer import NOT_OBSERVED, End, Observer
from drover.agent.protocol import DONE, NO_CONNECTION, Action, Answer, Heartbeat, Holding, Offer, Poll, Report
from drover.agent.run import Run
from drover.agent.store import Kept, Store

HEARTBEAT_EVERY_S: Final = 10.0

POLL_AFTER_S: Final = ((10, 30.0), (3, 10.0), (0, 5.0))
"""Pairs of a number of empty answers in a row and the poll interval in seconds from then on, for a platform that does
not send `Drover-Poll-After`."""

PAUSE_AFTER_S: Final = UNREACHABLE_AFTER_S
"""After this many seconds without a connection, the agent pauses its work."""

ENDED_REMEMBERED_MAX: Final = 8
"""How many ended runs the agent remembers, because a late answer might offer them again."""


class Runs(Protocol):
    """Makes the runs of a session: the work itself."""

    def begin(self, offer: Offer, now: float) -> Run: ...

    def recall(self, kept: Kept, now: float) -> Run:
        """Restore a run from the store. It stays paused until the platform has accepted a report about it."""
        ...


class Session:
    """The agent of one phone, as a state machine. At `due_at`, call `next_action` until it returns None; pass each
    outcome to `answered`."""

    def __init__(
        self,
        runs: Runs,
        store: Store,
        *,
        now: float = 0.0,
        polls: bool = True,
        heartbeat_every_s: float = HEARTBEAT_EVERY_S,
        observer: Observer = NOT_OBSERVED,
    ) -> None:
        """`polls`: whether the agent polls for work. False if work is sent over a socket."""
        self._runs = runs
        self._store = store
        self._polls = polls
        self._heartbeat_every_s = heartbeat_every_s
        self._observer = observer
        self._beat_at = self._beat_planned_at = now
        self._beating = False
        self._poll_at = now
        self._poll_not_before = now
        self._empty_polls = 0
        self._asked: Poll | Report | None = None
        self._pace_until = self._final_until = now
        # Separate backoffs, because the platform throttles polls and progress, but never heartbeats and final reports.
        self._beat_backoff, self._pace_backoff, self._final_backoff = AgentBackoff(), AgentBackoff(), AgentBackoff()
        self._link_backoff = AgentBackoff()
        self._lost_since: float | None = None
        self._knock_at = math.inf
        self._ended: deque[tuple[str, int]] = deque(maxlen=ENDED_REMEMBERED_MAX)
        self._next: Offer | None = None
        self._run = self._recall(now)

    # When to act

    @property
    def due_at(self) -> float:
        """When to call `next_action`; at once if the time is in the past. Infinite while only an answer can change
        anything."""
        return min(self._beat_due(), self._work_due())

    def _beat_due(self) -> float:
        if self._beating:
            return math.inf
        if self._lost_since is not None:
            return math.inf if self._run is not None else self._knock_at  # send the stored progress first
        return self._beat_at

    def _work_due(self) -> float:
        run = self._run
        if self._asked is not None:
            return math.inf
        if run is None:
            return max(self._poll_at, self._pace_until) if self._polls and self._lost_since is None else math.inf
        return min(self._changes_at(run), self._speaks_at(run))

    def _speaks_at(self, run: Run) -> float:
        """Return the time at which the next report may be sent."""
        if self._lost_since is not None:
            return self._knock_at
        if run.final is not None:
            return self._final_until
        return self._pace_until if run.unsaid else math.inf

    def _changes_at(self, run: Run) -> float:
        return run.changes_at(self._pauses_at()) if run.begun else math.inf

    def _pauses_at(self) -> float:
        return math.inf if self._lost_since is None else self._lost_since + PAUSE_AFTER_S

    # What to send

    def next_action(self, now: float) -> Action | None:
        """Return the next action to send now. None: nothing more until `due_at`."""
        run = self._run
        if run is not None and self._changes_at(run) <= now:
            run.note(now, self._pauses_at())
            self._store.keep(run.kept())
        if self._beat_due() <= now:
            self._beat_planned_at = self._beat_at if self._lost_since is None else now
            self._beating = True
            return Heartbeat("online" if run is None or not run.begun else "busy")
        if self._asked is None and run is None and self._work_due() <= now:
            self._asked = Poll()
            return self._asked
        if self._asked is None and run is not None and self._speaks_at(run) <= now:
            self._asked = run.report(now)
            return self._asked
        return None

    # Outcomes of actions

    def answered(self, action: Action, answer: Answer, now: float) -> None:
        """Handle the outcome of an action that `next_action` returned."""
        if answer.connected:
            self.connected(now)
        else:
            self._lose(now)
        if isinstance(action, Heartbeat):
            self._beat_answered(answer, now)
        elif isinstance(action, Poll):
            self._poll_answered(answer, now)
        else:
            self._report_answered(action, answer, now)

    def connected(self, now: float) -> None:
        """Note that the platform is reachable: it has answered a request, or a new socket is open."""
        if self._lost_since is None:
            return
        self._lost_since, self._knock_at = None, math.inf
        self._link_backoff.pause_after(DONE, now)
        if self._run is not None:
            self._run.unsaid = True

    def _lose(self, now: float) -> None:
        if self._lost_since is None:
            self._lost_since = now
        elif now < self._knock_at:
            return  # another action was lost before: the next reconnect is already planned
        self._knock_at = now + self._link_backoff.pause_after(NO_CONNECTION, now)

    def _beat_answered(self, answer: Answer, now: float) -> None:
        self._beating = False
        if not answer.connected:
            return
        pause_s = self._beat_backoff.pause_after(answer, now)
        # Count from the planned time, not from the answer: a slow platform must not slow the heartbeats down.
        self._beat_at = now + pause_s if pause_s else self._beat_planned_at + self._heartbeat_every_s
        if self._beat_at <= now:
            self._beat_at = now + self._heartbeat_every_s  # do not send missed heartbeats in a burst

    def _poll_answered(self, answer: Answer, now: float) -> None:
        self._asked = None
        if not answer.connected:
            return
        self._pace(answer, now)
        if not answer.ok:
            return
        self._empty_polls = 0 if answer.offer is not None else self._empty_polls + 1
        own_s = next(after_s for empty, after_s in POLL_AFTER_S if self._empty_polls >= empty)
        self._poll_at = self._poll_not_before = now + (own_s if answer.poll_after_s is None else answer.poll_after_s)
        if answer.offer is not None:
            self.offered(answer.offer, now)

    def _report_answered(self, report: Report, answer: Answer, now: float) -> None:
        self._asked = None
        run = self._run
        if run is None or not run.is_of(report.assignment_id, report.run):
            return  # the run was withdrawn in the meantime
        if answer.ok:
            self._taken(run, report, answer, now)
        elif answer.refused:
            self._end(run, _end_by(report, answer), answer, now)
        else:
            run.unsaid = True
            if answer.connected and report.is_final:
                self._final_until = now + self._final_backoff.pause_after(answer, now)
            elif answer.connected:
                self._pace(answer, now)

    def _taken(self, run: Run, report: Report, answer: Answer, now: float) -> None:
        if report.is_final:
            self._final_backoff.pause_after(answer, now)
            self._end(run, End(report.status), answer, now)
            return
        self._pace(answer, now)
        began = not run.begun
        run.heard(report)
        run.go_on(now)
        if began:
            self._store.keep(run.kept())

    def _pace(self, answer: Answer, now: float) -> None:
        self._pace_until = now + self._pace_backoff.pause_after(answer, now)

    # Pushes by the platform

    def offered(self, offer: Offer, now: float) -> None:
        """Handle an offer of work. A run that is current or has ended is not started again."""
        repeated = self._knows(offer)
        self._observer.offered(offer, repeated)
        run = self._run
        if repeated:
            return
        if run is None:
            self._take(offer, now)
        elif run.offer.id == offer.id and run.final is None:
            self._next = offer
            self._end(run, End.SUPERSEDED, None, now)
        else:
            self._next = offer  # the answer to the last report is still in flight

    def _knows(self, offer: Offer) -> bool:
        mine = [self._next] if self._run is None else [self._run.offer, self._next]
        return (offer.id, offer.run) in self._ended or any(
            one is not None and one.id == offer.id and one.run >= offer.run for one in mine
        )

    def withdrawn(self, assignment_id: str, run_number: int, now: float) -> None:
        """Handle that the platform has withdrawn a run. If its final report was sent, the answer to that report still
        counts."""
        if self._next is not None and self._next.id == assignment_id and self._next.run <= run_number:
            self._next = None
        run = self._run
        if run is None or run.offer.id != assignment_id or run.offer.run > run_number:
            return
        if not (isinstance(self._asked, Report) and self._asked.is_final):
            self._end(run, End.WITHDRAWN, None, now)

    def holding(self) -> Holding | None:
        """The current run, for the first frame of a new socket; None if there is none."""
        run = self._run
        return None if run is None else Holding(run.offer.id, run.offer.run, run.noted_pct)

    def judged(self, assignment_id: str, run_number: int, goes_on: bool, now: float) -> None:
        """Handle the platform's verdict on the run that the first frame of a socket has reported.

        A final report is sent even if the verdict is to drop the run: an earlier copy of the report may have ended the
        run, though its answer was lost, and the new answer says so.
        """
        run = self._run
        if run is None or not run.is_of(assignment_id, run_number) or run.final is not None:
            return
        if not goes_on:
            self._end(run, End.DROPPED, None, now)
        elif run.begun:
            run.unsaid = False
            run.go_on(now)

    # The present run

    def _take(self, offer: Offer, now: float) -> None:
        self._run = run = self._runs.begin(offer, now)
        self._store.keep(run.kept())
        self._observer.began(offer)

    def _end(self, run: Run, end: End, answer: Answer | None, now: float) -> None:
        self._run = None
        self._store.forget()
        run.stop()
        self._ended.append((run.offer.id, run.offer.run))
        self._observer.ended(run.offer, end, run.final, answer)
        self._poll_at = max(now, self._poll_not_before)
        self._final_until = now
        if self._next is not None:
            offer, self._next = self._next, None
            self._take(offer, now)

    def _recall(self, now: float) -> Run | None:
        kept = self._store.recall()
        if kept is None:
            return None
        self._observer.resumed(kept.offer)
        return self._runs.recall(kept, now)


def _end_by(report: Report, answer: Answer) -> End:
    if answer.stale:
        return End.STALE
    if answer.status == 404:
        return End.GONE
    if answer.status == 409:
        # The run has ended already. For a final report that counts as done: most likely an earlier copy ended it.
        return End(report.status) if report.is_final else End.OVER
    return End.REFUSED
