"""The socket of simulated phones: as the agent library makes it, with power failures and measurements."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Final

from drover.agent.clock import Clock
from drover.agent.protocol import Answer, Offer, Report
from drover.agent.socket import Exchange, Sent, SocketLine
from drover.simulator.http import Client
from drover.simulator.phone import Errand
from drover.simulator.script import Episode, Troubles
from drover.simulator.tally import Tally

FREED_REMEMBERED_MAX: Final = 64
FREED_S_MAX: Final = 30.0
"""The longest time in seconds from a freed slot to the next offer of the same job that is measured. A longer one means
that there was no work for the slot, so it says nothing about the platform."""


class FarmLine(SocketLine[Errand]):
    """The line of a simulated PC or phone, which has no socket while it has no power."""

    def __init__(
        self,
        subject: dict[str, str],
        phones: Mapping[str, int],
        exchange: Exchange[Errand],
        client: Client,
        clock: Clock,
        tally: Tally,
        *,
        troubles: Iterator[Episode] | None = None,
        dialling: asyncio.Semaphore | None = None,
    ) -> None:
        super().__init__(subject, phones, exchange, client, clock, dialling=dialling)
        self._tally = tally
        self._troubles = Troubles(troubles if troubles is not None else iter(()))
        self._job_of: dict[int, str] = {}
        """For each phone: the last job that it was offered."""
        self._freed: deque[tuple[float, str]] = deque(maxlen=FREED_REMEMBERED_MAX)
        """When slots were freed, and which job freed each."""

    def _note(self, what: str) -> None:
        self._tally.count(what)

    def _reported(self, sent: Sent[Errand]) -> None:
        action = sent.errand.action
        if isinstance(action, Report) and action.status == "completed" and not sent.errand.repeated:
            self._freed.append((sent.at, self._job_of.get(sent.number, "")))

    def _settled(self, sent: Sent[Errand], answer: Answer) -> None:
        if answer.ok and isinstance(sent.errand.action, Report) and sent.errand.action.is_final:
            self._tally.done.add(monotonic() - sent.at)

    def _pushed(self, number: int | None, offer: Offer) -> None:
        self._measure_next_offer(offer.job_id)
        if number is not None:
            self._job_of[number] = offer.job_id

    def _measure_next_offer(self, job_id: str) -> None:
        now = monotonic()
        while self._freed:
            freed_at, of_job = self._freed.popleft()
            if of_job == job_id and now - freed_at <= FREED_S_MAX:
                self._tally.next_offer.add(now - freed_at)
                return

    def _hang_up(self) -> None:
        self._freed.clear()
        super()._hang_up()

    def _power_s(self) -> float | None:
        """Return the real seconds until the next fault. None if there will be none."""
        now = self._clock.now()
        self._troubles.at(now)
        following = self._troubles.next
        return None if following is None else self._clock.real_s(following.start - now)

    async def _wait_for_power(self) -> None:
        while True:
            now = self._clock.now()
            if (episode := self._troubles.at(now)) is None:
                return
            await asyncio.sleep(self._clock.real_s(episode.end - now))
