"""One simulated phone: its agent, and its faults (no network, no power, late reports). No I/O."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Final, Literal, NamedTuple

from drover.agent.observer import NOT_OBSERVED, Observer
from drover.agent.protocol import NO_CONNECTION, Action, Answer, Holding, Offer, Poll, Report
from drover.agent.session import HEARTBEAT_EVERY_S, Session
from drover.agent.store import MemoryStore, Store
from drover.simulator.script import Episode, Fault, Post, Troubles
from drover.simulator.watched_run import Watcher
from drover.simulator.work import Plan, Player

Speech = Literal["http", "pc socket", "own socket"]
"""How a phone talks to the platform: over HTTP, over the shared socket of its PC, or over a socket of its own."""


ERRANDS_AT_ONCE_MAX: Final = 16
"""Maximum of actions that a phone may send at one moment: more are a defect of the simulator."""


NO_WORK: Final = Answer(200)
"""The answer that stands for a poll that a phone does not send, although it is due."""


class Identity(NamedTuple):
    """The data that a phone is registered with."""

    serial_number: str
    group_id: str
    pc_id: str
    capabilities: tuple[str, ...] = ()


class Errand(NamedTuple):
    """An action that a phone sends, and the agent that sent it."""

    action: Action
    life: int
    """The number of the agent that sent the action. If that agent crashes before the answer arrives, the answer is
    dropped."""
    repeated: bool = False
    """Whether this is a copy of a report that was already answered. The answer to the copy is dropped."""


def _quick_look(offer: Offer) -> Plan:
    return Plan(watch_s=10.0)


class Phone:
    """A simulated phone, as a state machine. At `due_at`, call `next_errand` until it returns None; pass each outcome
    to `answered`."""

    __slots__ = (
        "_agent",
        "_heartbeat_every_s",
        "_life",
        "_mail",
        "_observer",
        "_post",
        "_post_dice",
        "_runs",
        "_store",
        "_troubles",
        "_waits_until",
        "device_id",
        "identity",
        "speech",
    )

    def __init__(
        self,
        identity: Identity,
        *,
        player: Player = _quick_look,
        store: Store | None = None,
        speech: Speech = "http",
        first_due_at: float = 0.0,
        heartbeat_every_s: float = HEARTBEAT_EVERY_S,
        troubles: Iterator[Episode] | None = None,
        post: Post | None = None,
        observer: Observer = NOT_OBSERVED,
    ) -> None:
        self.identity = identity
        self.speech: Speech = speech
        self.device_id: str | None = None
        """The platform's id of the phone. None until it is registered."""
        self._runs = Watcher(player)
        self._store = MemoryStore() if store is None else store
        self._heartbeat_every_s = heartbeat_every_s
        self._observer = observer
        self._troubles = Troubles(troubles if troubles is not None else iter(()))
        self._post = Post() if post is None else post
        self._post_dice = Random(f"{identity.serial_number} post")
        self._mail: tuple[float, Errand] | None = None
        """A delayed final report, or a second copy of one, with the time at which it is sent."""
        self._life = 0
        self._waits_until = -math.inf
        self._boot(first_due_at)

    @property
    def due_at(self) -> float:
        """When to call `next_errand`; at once if the time is in the past. Infinite while only the platform can change
        anything."""
        mail_at = math.inf if self._mail is None else self._mail[0]
        return max(self._waits_until, min(self._agent.due_at, mail_at))

    def next_errand(self, now: float) -> Errand | None:
        """Return the next action to send now. None: nothing more until `due_at`."""
        for _ in range(ERRANDS_AT_ONCE_MAX):
            if self.due_at > now:
                return None
            episode = self._trouble_at(now)
            if episode is not None and episode.fault.stops_agent:
                self._waits_until = episode.end
                return None
            errand = self._errand(now)
            if errand is None:
                continue
            if episode is None or (episode.fault.takes_no_offers and not isinstance(errand.action, Poll)):
                return errand
            self._hear(errand, NO_WORK if episode.fault.takes_no_offers else NO_CONNECTION, now)
        raise AssertionError(f"{self.identity.serial_number} sends too much at {now}")

    def _errand(self, now: float) -> Errand | None:
        if self._mail is not None and self._mail[0] <= now:
            errand, self._mail = self._mail[1], None
            return errand
        action = self._agent.next_action(now)
        if action is None:
            return None
        errand = Errand(action, self._life)
        if isinstance(action, Report) and action.is_final and self._post_dice.random() < self._post.late:
            # To the agent it looks like a report that is answered very late.
            self._mail = (now + self._post_dice.uniform(*self._post.late_s), errand)
            return None
        return errand

    def answered(self, errand: Errand, answer: Answer, now: float) -> None:
        """Handle the outcome of an errand."""
        # If a fault began while it was in flight, the phone does not hear the answer.
        self._hear(errand, NO_CONNECTION if self._is_cut_off(now) else answer, now)

    def _hear(self, errand: Errand, answer: Answer, now: float) -> None:
        if errand.life != self._life or errand.repeated:
            return
        action = errand.action
        self._agent.answered(action, answer, now)
        final = isinstance(action, Report) and action.is_final
        if final and answer.ok and self._post_dice.random() < self._post.repeated:
            self._mail = (now, errand._replace(repeated=True))

    def offered(self, offer: Offer, now: float) -> bool:
        """Handle work that the platform sent over a socket. False: the phone has a fault and does not receive it."""
        if self._trouble_at(now) is not None:
            return False
        self._agent.offered(offer, now)
        return True

    def withdrawn(self, assignment_id: str, run: int, now: float) -> None:
        if not self._is_cut_off(now):
            self._agent.withdrawn(assignment_id, run, now)

    def connected(self, now: float) -> None:
        """Note that the platform has accepted the phone's socket, or that of its PC."""
        if not self._is_cut_off(now):
            self._agent.connected(now)

    def judged(self, assignment_id: str, run: int, goes_on: bool, now: float) -> None:
        if not self._is_cut_off(now):
            self._agent.judged(assignment_id, run, goes_on, now)

    def holding(self, now: float) -> Holding | None:
        """The current run of the phone; None while it has a fault."""
        return None if self._is_cut_off(now) else self._agent.holding()

    def fault_at(self, now: float) -> Fault | None:
        """Return the phone's current fault. None: it has none."""
        episode = self._trouble_at(now)
        return None if episode is None else episode.fault

    def _is_cut_off(self, now: float) -> bool:
        """Whether a fault keeps the phone from hearing the platform."""
        episode = self._trouble_at(now)
        return episode is not None and not episode.fault.takes_no_offers

    def _trouble_at(self, now: float) -> Episode | None:
        return self._troubles.at(now, self._ended)

    def _ended(self, episode: Episode) -> None:
        if episode.fault.stops_agent:
            self._boot(episode.end)

    def _boot(self, now: float) -> None:
        """Start a new agent, which knows only what is in the store."""
        self._life += 1
        self._mail = None
        self._agent = Session(
            self._runs,
            self._store,
            now=now,
            polls=self.speech == "http",
            heartbeat_every_s=self._heartbeat_every_s,
            observer=self._observer,
        )
