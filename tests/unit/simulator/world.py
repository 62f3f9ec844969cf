"""One agent on a virtual clock, and a platform that answers by a script: for tests of the rules, without any I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drover.agent.observer import End
from drover.agent.protocol import DONE, Action, Answer, Heartbeat, Job, Offer, Poll, Report
from drover.agent.session import Session
from drover.agent.store import MemoryStore
from drover.simulator.watched_run import Watcher
from drover.simulator.work import Plan

EMPTY = Answer(200)
CONFLICT = Answer(409, code="CONFLICT")
STALE = Answer(409, code="STALE_ATTEMPT")
GONE = Answer(404, code="NOT_FOUND")


def offer(name: str = "A", run: int = 1, **fields: Any) -> Offer:
    return Offer(name, "D", run, Job("https://youtu.be/simulated-0001"), **fields)


class Book:
    """A observer that remembers."""

    def __init__(self) -> None:
        self.lines: list[tuple] = []

    def offered(self, offer: Offer, repeated: bool) -> None:
        self.lines.append(("offered again" if repeated else "offered", offer.id, offer.run))

    def began(self, offer: Offer) -> None:
        self.lines.append(("began", offer.id, offer.run))

    def resumed(self, offer: Offer) -> None:
        self.lines.append(("resumed", offer.id, offer.run))

    def ended(self, offer: Offer, end: End, said: Report | None, answer: Answer | None) -> None:
        self.lines.append((str(end), offer.id, offer.run))

    def ends(self) -> list[tuple]:
        return [line for line in self.lines if line[0] not in ("offered", "offered again", "began", "resumed")]


class World:
    """Time passes from one thing the agent does to the next. Answers come at once, unless `takes_s` says otherwise."""

    def __init__(self, *offers: Offer, plan: Plan = Plan(watch_s=100), polls: bool = True) -> None:  # noqa: B008
        self.now = 0.0
        self.offers = list(offers)
        self.said: list[tuple[float, Action]] = []
        self.store = MemoryStore()
        self.book = Book()
        self.plan = plan
        self.polls = polls
        self.answer: Callable[[Action, float], Answer | None] = lambda action, now: None
        """What is answered instead of the usual, if it is not None."""
        self.takes_s: Callable[[Action], float] = lambda action: 0.0
        self._late: list[tuple[float, Action, Answer]] = []
        self.agent = self.start()

    def start(self) -> Session:
        """A new agent with the same store: the old one crashed."""
        self._late = []
        runs = Watcher(lambda offer: self.plan)
        self.agent = Session(runs, self.store, now=self.now, polls=self.polls, observer=self.book)
        return self.agent

    def live(self, until: float) -> World:
        while (moment := min([self.agent.due_at, *(at for at, _, _ in self._late)])) < until:
            self.now = max(self.now, moment)
            self._hear()
            while (action := self.agent.next_action(self.now)) is not None:
                self.said.append((self.now, action))
                answer = self.answer(action, self.now) or self._usual(action)
                self._late.append((self.now + self.takes_s(action), action, answer))
                self._hear()
        self.now = until
        return self

    def _hear(self) -> None:
        due = [one for one in self._late if one[0] <= self.now]
        self._late = [one for one in self._late if one[0] > self.now]
        for _, action, answer in due:
            self.agent.answered(action, answer, self.now)

    def _usual(self, action: Action) -> Answer:
        if not isinstance(action, Poll):
            return DONE
        return EMPTY._replace(offer=self.offers.pop(0)) if self.offers else EMPTY

    def beats(self) -> list[float]:
        return [at for at, action in self.said if isinstance(action, Heartbeat)]

    def poll_times(self) -> list[float]:
        return [at for at, action in self.said if isinstance(action, Poll)]

    def timed_reports(self) -> list[tuple[float, Report]]:
        return [(at, action) for at, action in self.said if isinstance(action, Report)]

    def reports(self) -> list[Report]:
        return [report for _, report in self.timed_reports()]

    def told(self) -> list[tuple]:
        """Reports as (when, status, progress or code)."""
        return [(at, one.status, one.error_code or one.progress_pct) for at, one in self.timed_reports()]
