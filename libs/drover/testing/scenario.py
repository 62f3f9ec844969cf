"""Given / when / then for deciders: `given(FLEET, events…).when(command).then(events…)`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from drover.domain.decider import (
    CHAIN_BYTES_FULL,
    DECISION_BYTES_MAX,
    EVENTS_PER_DECISION_MAX,
    Command,
    Decider,
    Decision,
    Rejection,
    Tick,
)
from drover.domain.event import Event
from drover.eventlog.codec import Codec

NOON: Final = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
TICKS_MAX: Final = 10_000
_ENVELOPE: Final = ("n", "at", "by", "cause", "trace")


class Scenario:
    """A history, a command, and the expected events. Each step returns the scenario."""

    def __init__(self, decider: Decider[Any], now: datetime = NOON) -> None:
        self.decider = decider
        self.state = decider.initial()
        self.now = now
        self.by = ""
        """The actor of the events that are recorded from now on."""
        self.decision: Decision = Decision()
        self._n = 0
        self._codec = Codec.of(decider)

    def given(self, *events: Event) -> Scenario:
        for event in events:
            self._fold(event)
        return self

    def after(self, **duration: float) -> Scenario:
        """Let time pass: `after(seconds=30)`. Deadlines are fired by `ticked`."""
        self.now += timedelta(**duration)
        return self

    def when(self, command: Command) -> Scenario:
        decision = self.decider.decide(self.state, command, self.now)
        if decision.events and decision.rejection is not None:
            # A repeated command gets its refusal from the events alone: both must be equal.
            assert self.decider.answer(decision.events) == decision.rejection
        events: list[Event] = []
        step: Decision | None = decision
        while step is not None:
            for event in step.events:
                self._fold(event)
            events += step.events
            full = len(self._codec.encode(events)) >= CHAIN_BYTES_FULL
            step = None if step.then is None or full else step.then(self.state, self.now)
        assert len(events) <= EVENTS_PER_DECISION_MAX, len(events)
        assert len(self._codec.encode(events)) <= DECISION_BYTES_MAX
        self.decision = msgspec.structs.replace(decision, events=events)
        return self

    def ticked(self) -> Scenario:
        """Tick until nothing is due, as the writer would. Afterwards `decision` has the events of all these ticks."""
        events: list[Event] = []
        for _ in range(TICKS_MAX):
            deadline = self.decider.next_deadline(self.state)
            if deadline is None or deadline > self.now:
                self.decision = Decision(events=events)
                return self
            self.when(Tick())
            assert self.decision.events, f"no progress on the deadline {deadline}"
            events += self.decision.events
        raise AssertionError(f"{TICKS_MAX} ticks, and something is still due")

    def then(self, *expected: Event | type[Event]) -> Scenario:
        """Expect exactly these events in this order. A type matches any event of it; envelopes are not compared."""
        assert self.decision.rejection is None, f"refused: {self.decision.rejection}"
        return self._compare(expected)

    def then_nothing(self) -> Scenario:
        return self.then()

    def then_rejected(self, code: str, *recorded: Event | type[Event], **details: Any) -> Scenario:
        rejection = self.decision.rejection
        assert rejection is not None, f"accepted: {list(self.decision.events)}"
        assert rejection.code == code, rejection
        for name, value in details.items():
            assert (rejection.details or {}).get(name) == value, rejection
        return self._compare(recorded)

    def then_answers(self, **fields: Any) -> Scenario:
        """Expect that the result has at least these fields."""
        result = self.decider.answer(self.decision.events) if self.decision.events else self.decision.result
        assert not isinstance(result, Rejection), result
        for name, value in fields.items():
            assert result[name] == value, (name, result)
        return self

    def _fold(self, event: Event) -> None:
        self._n += 1
        event.n, event.at, event.by = self._n, self.now, event.by or self.by
        # Encode and decode each event as the log does, so that every scenario also tests this.
        (event,) = self._codec.decode(self._codec.encode([event]))
        self.state = self.decider.evolve(self.state, event)

    def _compare(self, expected: tuple[Event | type[Event], ...]) -> Scenario:
        found = list(self.decision.events)
        shown = [_bare(event) for event in found]
        assert len(found) == len(expected), f"expected {len(expected)} events, found {shown}"
        for event, wanted in zip(found, expected, strict=True):
            if isinstance(wanted, type):
                assert type(event) is wanted, shown
            else:
                assert _bare(event) == _bare(wanted), shown
        return self


def given(decider: Decider[Any], *events: Event) -> Scenario:
    return Scenario(decider).given(*events)


def _bare(event: Event) -> dict[str, Any]:
    fields = {name: value for name, value in msgspec.structs.asdict(event).items() if name not in _ENVELOPE}
    return {"type": type(event).__name__, **fields}
