"""The writer's part in a simulation of the render queue: decide, fold, tick; its books are checked at each command."""

from datetime import UTC, datetime, timedelta

import msgspec

from drover.domain.decider import CHAIN_BYTES_FULL, DECISION_BYTES_MAX, EVENTS_PER_DECISION_MAX, Tick
from drover.domain.render import render_decider
from drover.domain.render.policy import Policy
from drover.eventlog.codec import Codec
from tests.simulation.render import invariants
from tests.simulation.render.history import History

TICKS_MAX = 500


class Writer:
    settles_after_each = True

    def start(self, policy: Policy) -> None:
        self.now = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
        self.policy = policy
        self.decider = render_decider(policy)
        self.codec = Codec.of(self.decider)
        self.queue = self.decider.initial()
        self.history = History()
        self.n = 0

    def send(self, command):
        """What the caller is told."""
        decision = first = self.decider.decide(self.queue, command, self.now)
        if decision.rejection is not None and decision.events:
            assert self.decider.answer(decision.events) == decision.rejection
        events, size = [], 0
        while True:
            for event in decision.events:
                size += self.fold(event)
            events += decision.events
            if decision.then is None or size >= CHAIN_BYTES_FULL:
                break
            decision = decision.then(self.queue, self.now)
        assert len(events) <= EVENTS_PER_DECISION_MAX
        assert size <= DECISION_BYTES_MAX
        invariants.check(self.queue, self.history, self.policy)
        self.events = events
        return self.decider.answer(events) if events else first.rejection or first.result

    def fold(self, event) -> int:
        self.n += 1
        event.n, event.at = self.n, self.now
        line = self.codec.encode([event])
        (event,) = self.codec.decode(line)
        self.decider.evolve(self.queue, event)
        self.history.see(event)
        return len(line)

    def settle(self) -> None:
        """Let the clock do what is due."""
        for _ in range(TICKS_MAX):
            deadline = self.decider.next_deadline(self.queue)
            if deadline is None or deadline > self.now:
                return
            self.send(Tick())
            assert self.events, f"no headway on {deadline}"
        raise AssertionError("something is due for ever")

    def settle_if_it_is_time(self) -> None:
        if self.settles_after_each or self.n % 3 == 0:
            self.settle()

    def do(self, command):
        told = self.send(command)
        self.settle_if_it_is_time()
        return told

    def pass_time(self, duration: timedelta) -> None:
        """It wakes at each deadline on the way."""
        until = self.now + duration
        while (deadline := self.decider.next_deadline(self.queue)) is not None and deadline <= until:
            self.now = max(self.now, deadline)
            self.settle()
        self.now = until

    def snapshot(self) -> bytes:
        return msgspec.msgpack.encode(self.queue)
