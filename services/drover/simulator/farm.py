"""Thousands of phones in one process: a heap of who is due when, and a few senders. What a phone does is its own."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from heapq import heapify, heappop, heappush
from typing import Final

import structlog

from drover.simulator.clock import Clock
from drover.simulator.http import CONNECTIONS_MAX, Client
from drover.simulator.phone import Action, Identity, Phone
from drover.simulator.registration import Registrar
from drover.simulator.tally import Tally

SUMMARY_EVERY_S: Final = 30.0
DRAIN_S: Final = 3.0
NOT_FOUND: Final = 404

log = structlog.stdlib.get_logger(__name__)


class Farm:
    """Asks each phone at its time what it does, and does it: at most `senders` requests at once, as many waiting."""

    def __init__(
        self, phones: Sequence[Phone], client: Client, clock: Clock, *, senders: int = CONNECTIONS_MAX
    ) -> None:
        self._phones = phones
        self._client = client
        self._clock = clock
        self._senders = senders
        # Each phone stands in the heap once, or has a request outstanding. The numbers save comparing phones.
        self._due = [(phone.due_at, number, phone) for number, phone in enumerate(phones)]
        heapify(self._due)
        self._look_again = asyncio.Event()
        self._outstanding = 0
        self._actions: asyncio.Queue[tuple[int, Phone, Action]] = asyncio.Queue(maxsize=senders)
        self._registrar = Registrar(client, clock)
        self._unknown: dict[str, Identity] = {}
        self._met_unknown = asyncio.Event()
        self._tally = Tally()
        self._tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def running(self, *, until: float = math.inf) -> AsyncIterator[None]:
        """The farm lives while the block lasts; what is due at `until` or later (on its clock) does not happen.

        On leaving, requests under way get `DRAIN_S` to end.
        """
        senders = [asyncio.create_task(self._send(), name=f"sender {number}") for number in range(self._senders)]
        dispatcher = asyncio.create_task(self._dispatch(until), name="dispatcher")
        others = [asyncio.create_task(self._register_unknown()), asyncio.create_task(self._tell())]
        self._tasks = [dispatcher, *senders, *others]
        try:
            yield
        finally:
            dispatcher.cancel()
            try:
                async with asyncio.timeout(DRAIN_S):
                    await self._actions.join()
            except TimeoutError:
                log.warning("requests_cut_off", waiting=self._actions.qsize())
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    async def wait_ended(self) -> None:
        """Returns when there is nothing left to happen (only with an `until`); raises what broke the farm."""
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in self._tasks:
            if task.done():
                await task

    async def _dispatch(self, until: float) -> None:
        while True:
            self._look_again.clear()
            await self._ask_those_due(until)
            due_at = self._due[0][0] if self._due else math.inf
            if due_at < until:
                await self._wait(self._clock.real_s(due_at - self._clock.now()))
            elif self._outstanding:
                await self._wait(None)  # an answer may bring something that is still before `until`
            else:
                return

    async def _ask_those_due(self, until: float) -> None:
        while self._due and self._due[0][0] <= (now := self._clock.now()) and self._due[0][0] < until:
            due_at, number, phone = heappop(self._due)
            self._tally.late(now - due_at)
            action = phone.next_action(now)
            if action is None:
                heappush(self._due, (phone.due_at, number, phone))
            else:
                self._outstanding += 1
                await self._actions.put((number, phone, action))  # waits while all senders are busy

    async def _wait(self, at_most_s: float | None) -> None:
        """So long, or until a phone is due sooner than the soonest so far."""
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                await self._look_again.wait()

    async def _send(self) -> None:
        while True:
            number, phone, action = await self._actions.get()
            answer = await self._client.heartbeat(phone.identity.serial_number, action)
            self._tally.answered(answer)
            if answer.status == NOT_FOUND:
                self._unknown[phone.identity.serial_number] = phone.identity
                self._met_unknown.set()
            phone.answered(answer, self._clock.now())
            self._outstanding -= 1
            if not self._outstanding or not self._due or phone.due_at < self._due[0][0]:
                self._look_again.set()
            heappush(self._due, (phone.due_at, number, phone))
            self._actions.task_done()

    async def _register_unknown(self) -> None:
        """A platform that knows these phones no more (its data was removed under us) learns of them anew."""
        while True:
            await self._met_unknown.wait()
            self._met_unknown.clear()
            phones, self._unknown = list(self._unknown.values()), {}
            log.info("registering_unknown_phones", phones=len(phones))
            await self._registrar.register(phones)

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(SUMMARY_EVERY_S)
            log.info("farm", **self._tally.summary(self._phones, self._clock.now()))
