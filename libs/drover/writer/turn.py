"""One turn: decides the waiting commands in order and collects their events, which become one commit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import structlog
from msgspec import UNSET

from drover.bus.messages import LOG_FULL, OVERLOADED, Accepted, Outcome, Rejected, Submission
from drover.domain.decider import (
    CHAIN_BYTES_FULL,
    DECISION_BYTES_MAX,
    EVENTS_PER_DECISION_MAX,
    Decider,
    Decision,
)
from drover.domain.errors import Code, DroverError
from drover.domain.event import Event
from drover.eventlog.log import COMMIT_BYTES_MAX
from drover.writer.fold import Fold
from drover.writer.idempotency import CommitMark, Memory, memory_of
from drover.writer.intake import Pending

TURN_COMMANDS_MAX: Final = 4_000
"""How many commands a turn may have. It bounds the memory of a turn, and how long deciding it holds the event loop."""
FIRST_COMMANDS_MAX: Final = 128
"""If no commit is being stored, a turn is sent as soon as it has this many commands. The next ones are decided while it
is stored."""
TURN_BYTES_FULL: Final = COMMIT_BYTES_MAX - DECISION_BYTES_MAX
"""A turn whose events have this size in bytes takes no further command: the events of one more might not fit into the
commit."""

log = structlog.get_logger("drover.writer")
_encode_into = msgspec.json.Encoder().encode_into
NEWLINE: Final = 10


class EvolveFault(DroverError):
    """`evolve` failed for a decided event. The state may be half changed and must be loaded again."""

    def __init__(self, pending: Pending) -> None:
        self.pending = pending
        super().__init__(pending.submission.id)


class DecisionTooLong(DroverError):
    """The events of a command and its follow-ups are too large. The state has changed and must be loaded again."""

    def __init__(self, events: int, size: int) -> None:
        super().__init__(f"{events} events, {size} bytes")
        self.events, self.size = events, size


class Turn:
    """The results of the commands of one turn, until its commit is stored."""

    def __init__(self) -> None:
        self.mark = CommitMark()
        self.ids: dict[str, Memory] = {}
        """The ids of the commands that recorded events in this turn. They are added to the remembered ids when the turn
        is sent."""
        self.taken: list[Pending] = []
        self.recorded: list[tuple[Pending, Sequence[Event]]] = []
        self.answered: list[tuple[Pending, Outcome]] = []
        self.repeated: list[tuple[Pending, Memory]] = []
        self.payload = bytearray()
        """The encoded commit, which grows with each command: one line for each event."""
        self.events = 0
        self.sent_at = 0.0
        self.landed_at = 0.0

    @property
    def is_full(self) -> bool:
        return len(self.payload) >= TURN_BYTES_FULL or len(self.taken) >= TURN_COMMANDS_MAX


def internal(trace: object = UNSET) -> Rejected:
    return Rejected(
        Code.INTERNAL,
        "Drover could not decide this command; nothing was changed. The log of the writer has the reason",
        {"trace": trace} if trace is not UNSET else None,
    )


def decide_into(
    turn: Turn,
    decider: Decider[Any],
    fold: Fold[Any],
    waiting: deque[Pending],
    *,
    now: datetime,
    barred: frozenset[str],
    commands_max: int = TURN_COMMANDS_MAX,
    read_only: bool = False,
) -> None:
    """Decide commands from the front of `waiting` and add them to `turn`. After EvolveFault the fold must not be used
    any more.

    `barred`: ids of commands that are refused (`quarantine`). `read_only`: the log is full, so refuse every command
    that would record events. This loop limits the throughput of a partition, so it is one long function that keeps
    attributes in local names.
    """
    decide, evolve = decider.decide, decider.evolve
    known, ids = fold.remembered.by_key, turn.ids
    full = fold.remembered.is_full
    taken, recorded, answered, payload = turn.taken, turn.recorded, turn.answered, turn.payload
    mark = turn.mark
    for _ in range(min(len(waiting), commands_max - len(taken))):
        if (start := len(payload)) >= TURN_BYTES_FULL:
            return
        pending = waiting.popleft()
        taken.append(pending)
        submission = pending.submission
        cause = submission.id
        key, _, digest = cause.partition("~")
        if key in ids or key in known:
            turn.repeated.append((pending, ids.get(key) or known[key]))
            continue
        if barred and key in barred:
            answered.append((pending, internal(submission.trace)))
            continue
        if full:
            answered.append((pending, OVERLOADED))
            continue
        state = fold.state
        try:
            decision = decide(state, submission.command, now)
            events = decision.events
            then = decision.then
            if not events and then is None:
                answered.append((pending, _without_events(decision)))
                continue
            if read_only:
                answered.append((pending, _read_only(decision, state, now)))
                continue
            n = _stamp(events, fold.n, now, submission, payload)
        except Exception:
            del payload[start:]
            log.exception("decide_raised", context=decider.context, command=type(submission.command).__name__)
            answered.append((pending, internal(submission.trace)))
            continue
        if (size := len(payload) - start) > DECISION_BYTES_MAX or len(events) > EVENTS_PER_DECISION_MAX:
            del payload[start:]
            answered.append((pending, _too_large(decider, pending, len(events), size)))
            continue
        try:
            for event in events:
                state = evolve(state, event)
        except Exception as error:
            log.exception("evolve_raised", context=decider.context, command=type(submission.command).__name__)
            raise EvolveFault(pending) from error
        if then is not None:
            fold.state, fold.n = state, n
            try:
                events = _carry_on(decider, fold, pending, events, then=then, now=now, payload=payload, start=start)
            except Exception as error:
                log.exception("follow_up_raised", context=decider.context, command=type(submission.command).__name__)
                raise EvolveFault(pending) from error
            if not events:
                answered.append((pending, _without_events(decision)))
                continue
            state, n = fold.state, fold.n
        fold.state = state
        fold.n = n
        fold.at = now
        ids[key] = memory_of(mark, digest) if digest else mark
        turn.events += len(events)
        recorded.append((pending, events))


def _carry_on(
    decider: Decider[Any],
    fold: Fold[Any],
    pending: Pending,
    events: Sequence[Event],
    *,
    then: Callable[[Any, datetime], Decision] | None,
    now: datetime,
    payload: bytearray,
    start: int,
) -> Sequence[Event]:
    """Decide the follow-ups of a command (`Decision.then`), and return the events of the command and of its follow-ups.
    Either all of them are recorded or none."""
    submission = pending.submission
    n, state, evolve = fold.n, fold.state, decider.evolve
    gathered = list(events)
    while then is not None and len(payload) - start < CHAIN_BYTES_FULL:
        decision = then(state, now)
        n = _stamp(decision.events, n, now, submission, payload)
        for event in decision.events:
            state = evolve(state, event)
        gathered += decision.events
        then = decision.then
        if len(gathered) > EVENTS_PER_DECISION_MAX or len(payload) - start > DECISION_BYTES_MAX:
            raise DecisionTooLong(len(gathered), len(payload) - start)
    fold.state, fold.n = state, n
    return gathered


def _stamp(events: Sequence[Event], n: int, now: datetime, submission: Submission[Any], payload: bytearray) -> int:
    """Fill in the envelope (`n`, `at`, `by`, `cause`, `trace`) of a decision's events and add them to the commit.
    Return the number of the last event."""
    by, cause, trace = submission.by, submission.id, submission.trace
    for event in events:
        n += 1
        event.n = n
        event.at = now
        event.by = by
        event.cause = cause
        event.trace = trace
        _encode_into(event, payload, -1)
        payload.append(NEWLINE)
    return n


def _read_only(decision: Decision, state: Any, now: datetime) -> Outcome:
    """Return the outcome of a command while the log is full: LOG_FULL if the command or a follow-up would record
    events."""
    while not decision.events:
        if decision.then is None:
            return _without_events(decision)
        decision = decision.then(state, now)
    return LOG_FULL


def _without_events(decision: Decision) -> Outcome:
    if (refused := decision.rejection) is not None:
        return Rejected(refused.code, refused.message, refused.details)
    return Accepted(0, decision.result)


def _too_large(decider: Decider[Any], pending: Pending, events: int, size: int) -> Rejected:
    command = type(pending.submission.command).__name__
    log.error("decision_too_large", context=decider.context, command=command, events=events, bytes=size)
    return Rejected(
        Code.TOO_LARGE,
        f"{command} would record {events} events of {size} bytes; at most {EVENTS_PER_DECISION_MAX} events and "
        f"{DECISION_BYTES_MAX} bytes fit. Split it into smaller commands",
    )
