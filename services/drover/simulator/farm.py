"""Runs thousands of simulated phones in one process, over a few HTTP connections and sockets."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Final

import structlog

from drover.agent.client import CONNECTIONS_MAX
from drover.agent.clock import Clock
from drover.agent.protocol import NO_CONNECTION, Answer, Heartbeat, Holding, Offer, Poll
from drover.simulator.http import Client
from drover.simulator.phone import Errand, Phone
from drover.simulator.pictures import Pictures
from drover.simulator.registration import Registrar
from drover.simulator.schedule import Schedule
from drover.simulator.script import Episode
from drover.simulator.socket_line import FarmLine
from drover.simulator.tally import Tally

SUMMARY_EVERY_S: Final = 30.0
DRAIN_S: Final = 3.0
DIALLING_MAX: Final = 32
"""Maximum of sockets that are being opened at the same time; others wait."""
REQUESTS_PER_PHONE_MAX: Final = 3
"""How many requests per phone the queue of the senders has room for: a heartbeat, a poll or report, and the copy of a
report. Requests that an agent sent before a crash may be added to these."""
PICTURES_WAITING_MAX: Final = 8
"""How many failures may wait for their pictures. Further ones are reported without."""
DISPATCHED_IN_A_ROW_MAX: Final = 500
"""After this many phones in a row, other tasks get their turn, so that answers are handled even when every phone is
due."""

NOT_FOUND: Final = 404

log = structlog.stdlib.get_logger(__name__)


class Farm:
    """Asks each due phone what to send, and sends it: over HTTP, at most `senders` at a time, or over its socket."""

    def __init__(
        self,
        phones: Sequence[Phone],
        client: Client,
        clock: Clock,
        *,
        senders: int = CONNECTIONS_MAX,
        tally: Tally | None = None,
        line_troubles: Callable[[Phone], Iterator[Episode]] = lambda phone: iter(()),
        pictures: Pictures | None = None,
    ) -> None:
        """`line_troubles`: makes the faults of the socket that a phone uses. `pictures`: of failures; None: no failure
        has one."""
        self._phones = phones
        self._client = client
        self._clock = clock
        self._senders = senders
        self.tally = Tally() if tally is None else tally
        self._schedule = Schedule(len(phones))
        for number, phone in enumerate(phones):
            self._schedule.set(number, phone.due_at)
        self._look_again = asyncio.Event()
        self._outstanding = 0
        self._idle = asyncio.Event()
        """Set while no request is unanswered."""
        self._idle.set()
        self._requests: asyncio.Queue[tuple[int, Errand, float]] = asyncio.Queue(REQUESTS_PER_PHONE_MAX * len(phones))
        self._pictures = pictures
        self._without_picture: asyncio.Queue[tuple[int, Errand]] = asyncio.Queue(PICTURES_WAITING_MAX)
        """Reports that wait for their pictures."""
        self._registrar = Registrar(client, clock)
        self._unknown: dict[int, Phone] = {}
        self._met_unknown = asyncio.Event()
        self._lines: dict[int, FarmLine] = {}
        self._line_troubles = line_troubles
        self._tasks: list[asyncio.Task[None]] = []
        self._lay_lines()

    def _lay_lines(self) -> None:
        dialling = asyncio.Semaphore(DIALLING_MAX)
        subjects: dict[tuple[str, str], dict[str, int]] = {}
        for number, phone in enumerate(self._phones):
            serial_number, pc_id = phone.identity.serial_number, phone.identity.pc_id
            if phone.speech == "pc socket":
                subjects.setdefault(("pc_id", pc_id), {})[serial_number] = number
            elif phone.speech == "own socket":
                subjects[("serial_number", serial_number)] = {serial_number: number}
        for (kind, name), numbers in subjects.items():
            troubles = self._line_troubles(self._phones[next(iter(numbers.values()))])
            line = FarmLine(
                {kind: name},
                numbers,
                self,
                self._client,
                self._clock,
                self.tally,
                troubles=troubles,
                dialling=dialling,
            )
            self._lines.update(dict.fromkeys(numbers.values(), line))

    @property
    def lines(self) -> list[FarmLine]:
        return list(dict.fromkeys(self._lines.values()))

    @asynccontextmanager
    async def running(self, *, until: float = math.inf) -> AsyncIterator[None]:
        """Run the farm while the block runs. Nothing that is due at `until` (on the farm's clock) or later happens.

        On exit, wait `DRAIN_S` for the answers to unanswered requests.
        """
        senders = [asyncio.create_task(self._send(), name=f"sender {number}") for number in range(self._senders)]
        lines = [asyncio.create_task(line.run(), name="socket line") for line in self.lines]
        dispatcher = asyncio.create_task(self._dispatch(until), name="dispatcher")
        others = [asyncio.create_task(self._register_unknown()), asyncio.create_task(self._tell())]
        if self._pictures is not None:
            others.append(asyncio.create_task(self._add_pictures(self._pictures)))
        self._tasks = [dispatcher, *senders, *lines, *others]
        try:
            yield
        finally:
            dispatcher.cancel()
            await self._drain()
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(DRAIN_S):
                await self._idle.wait()
        except TimeoutError:
            log.warning("requests_cut_off", outstanding=self._outstanding)

    async def wait_ended(self) -> None:
        """Wait until nothing is left to do, which only happens with an `until`. Raises the error that ended the
        farm."""
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in self._tasks:
            if task.done():
                await task

    # Scheduling

    async def _dispatch(self, until: float) -> None:
        while True:
            self._look_again.clear()
            await self._ask_those_due(until)
            due_at, now = self._schedule.first_at(), self._clock.now()
            if due_at < until:
                await self._wait(due_at - now)
            elif self._outstanding:
                await self._wait(math.inf)  # an answer may cause something before `until`
            elif self._lines and now < until:
                await self._wait(until - now)  # and so may a push by the platform
            else:
                return

    async def _ask_those_due(self, until: float) -> None:
        asked = 0
        while self._schedule.first_at() <= (now := self._clock.now()) and self._schedule.first_at() < until:
            due_at, number = self._schedule.pop()
            self._ask(number, due_at, now)
            asked += 1
            if asked % DISPATCHED_IN_A_ROW_MAX == 0:
                await asyncio.sleep(0)

    def _ask(self, number: int, due_at: float, now: float) -> None:
        phone = self._phones[number]
        while (errand := phone.next_errand(now)) is not None:
            self._outstanding += 1
            self._idle.clear()
            if self._pictures is not None and not self._without_picture.full() and self._pictures.wants(errand):
                self._without_picture.put_nowait((number, errand))
            else:
                self._forward(number, errand, due_at)
        self._schedule.set(number, phone.due_at)

    def _forward(self, number: int, errand: Errand, due_at: float) -> None:
        """Send an errand over the phone's socket, or hand it to the senders."""
        line = self._lines.get(number)
        if line is not None:
            self.tally.late(self._clock.now() - due_at)
            line.carry(number, errand)
        elif self._requests.full():
            self.answered(number, errand, NO_CONNECTION)  # the platform has not answered for long: do not wait
        else:
            self._requests.put_nowait((number, errand, due_at))

    async def _add_pictures(self, pictures: Pictures) -> None:
        while True:
            number, errand = await self._without_picture.get()
            complete = await pictures.add(errand, self._phones[number].identity.serial_number)
            self._forward(number, complete, self._clock.now())

    async def _wait(self, at_most_s: float) -> None:
        """Wait this long on the farm's clock, or until a phone becomes due earlier."""
        with suppress(TimeoutError):
            async with asyncio.timeout(None if at_most_s == math.inf else self._clock.real_s(at_most_s)):
                await self._look_again.wait()

    def _plan(self, number: int) -> None:
        # Not before now: a phone that has just become due is late only from this moment on.
        sooner = self._schedule.set(number, max(self._phones[number].due_at, self._clock.now()))
        if sooner or not self._outstanding:
            self._look_again.set()

    # HTTP

    async def _send(self) -> None:
        while True:
            number, errand, due_at = await self._requests.get()
            self.tally.late(self._clock.now() - due_at)
            self.answered(number, errand, await self._ask_platform(self._phones[number], errand))

    async def _ask_platform(self, phone: Phone, errand: Errand) -> Answer:
        action = errand.action
        if isinstance(action, Heartbeat):
            return await self._client.heartbeat(phone.identity.serial_number, action)
        if not isinstance(action, Poll):
            return await self._client.report(action, self._clock, phone.identity.serial_number)
        if phone.device_id is None:
            return Answer(NOT_FOUND)
        began = monotonic()
        answer = await self._client.poll(phone.device_id, phone.identity.serial_number)
        if answer.ok:
            self.tally.poll.add(monotonic() - began)
        return answer

    # Callbacks of sockets and senders (`drover.agent.socket.Exchange`)

    def answered(self, number: int, errand: Errand, answer: Answer) -> None:
        self._outstanding -= 1
        if not self._outstanding:
            self._idle.set()
        self.tally.answered(errand, answer)
        if answer.status == NOT_FOUND and isinstance(errand.action, Heartbeat | Poll):
            self.unknown(number)
        self._phones[number].answered(errand, answer, self._clock.now())
        self._plan(number)

    def offered(self, number: int, offer: Offer) -> None:
        if not self._phones[number].offered(offer, self._clock.now()):
            self.tally.count("offers not heard")
        self._plan(number)

    def withdrawn(self, number: int, assignment_id: str, run: int) -> None:
        self._phones[number].withdrawn(assignment_id, run, self._clock.now())
        self._plan(number)

    def connected(self, number: int) -> None:
        self._phones[number].connected(self._clock.now())
        self._plan(number)

    def disconnected(self, number: int) -> None:
        """Nothing to do: networks of simulated phones break all the time."""

    def judged(self, number: int, assignment_id: str, run: int, goes_on: bool) -> None:
        self._phones[number].judged(assignment_id, run, goes_on, self._clock.now())
        self._plan(number)

    def holding(self, number: int) -> Holding | None:
        return self._phones[number].holding(self._clock.now())

    def unknown(self, number: int) -> None:
        self._unknown[number] = self._phones[number]
        self._met_unknown.set()

    async def _register_unknown(self) -> None:
        """Register phones again that the platform no longer knows, because its data was removed."""
        while True:
            await self._met_unknown.wait()
            self._met_unknown.clear()
            unknown, self._unknown = self._unknown, {}
            log.info("registering_unknown_phones", phones=len(unknown))
            await self._registrar.register([phone.identity for phone in unknown.values()])
            polling = [phone for number, phone in unknown.items() if number not in self._lines]
            ids = await self._registrar.device_ids([phone.identity.serial_number for phone in polling])
            for phone in polling:
                phone.device_id = ids.get(phone.identity.serial_number)  # None: it will be reported as unknown again
            for line in {self._lines[number] for number in unknown if number in self._lines}:
                line.renew()

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(SUMMARY_EVERY_S)
            log.info("farm", **self.tally.summary(self._phones, self._clock.now()))
