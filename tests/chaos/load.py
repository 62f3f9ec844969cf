"""Commands whose ids we know, sent without a break and never more than so many at once; and phones that beat."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import msgspec
from nats.aio.client import Client
from uuid_utils import uuid7

from drover.bus.client import CommandBus
from drover.bus.messages import Accepted
from drover.domain.errors import Code
from drover.domain.fleet.commands import RegisterDevice
from tests.e2e.client import Http

SENDERS = 6
"""By the bus, each with one command on its way. As many again over HTTP."""
PAUSE_S = 0.05
PHONES = [f"CHAOS{number:05}" for number in range(12)]
PHONES_PER_PC = 100
BEAT_EVERY_S = 2.0
TRIES_MAX = 40
"""Of one command, with the same id each time."""


class Sent(msgspec.Struct):
    id: str
    began: float
    ended: float = 0.0
    tries: int = 0
    refused: str = ""

    @property
    def serial(self) -> str:
        """Of the phone that this command makes known: so it is found in the log."""
        return self.id.replace("-", "").upper()

    @property
    def acknowledged(self) -> bool:
        return self.ended > 0 and not self.refused


class Load:
    """Every command is repeated under its id until somebody answers it, as a client would."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.beats_failed = 0
        self._stopping = False

    def acknowledged(self) -> list[Sent]:
        return [sent for sent in self.sent if sent.acknowledged]

    def silence_after(self, moment: float) -> float:
        """The longest time from `moment` on in which nothing was acknowledged."""
        ends = sorted(sent.ended for sent in self.sent if sent.ended >= moment)
        return max((later - sooner for sooner, later in zip([moment, *ends], ends, strict=False)), default=0.0)

    def refused(self) -> list[str]:
        return [f"{sent.id}: {sent.refused}" for sent in self.sent if sent.refused]

    def _pc(self) -> str:
        return f"pc-{len(self.sent) // PHONES_PER_PC}"

    def _begin(self) -> Sent:
        self.sent.append(sent := Sent(str(uuid7()), time.monotonic()))
        return sent

    async def by_bus(self, bus: CommandBus) -> None:
        while not self._stopping:
            sent = self._begin()
            command = RegisterDevice(str(uuid7()), sent.serial, "P1-G1", self._pc())
            for sent.tries in range(1, TRIES_MAX + 1):
                outcome = await bus.send("fleet", command, by="chaos", id=sent.id)
                if isinstance(outcome, Accepted):
                    break
                if outcome.code not in (Code.UNAVAILABLE, Code.OVERLOADED):
                    sent.refused = f"{outcome.code} {outcome.message}"
                    break
            else:
                sent.refused = "no answer"
            sent.ended = time.monotonic()
            await asyncio.sleep(PAUSE_S)

    async def by_http(self, edges: Sequence[Http], first: int) -> None:
        path = "/rest/v1/devices"
        while not self._stopping:
            sent = self._begin()
            phone = {"serial_number": sent.serial, "group_id": "P1-G1", "pc_id": self._pc()}
            for sent.tries in range(1, TRIES_MAX + 1):
                edge = edges[(first + sent.tries) % len(edges)]
                try:
                    answer = await edge.call("POST", path, json=phone, headers={"Idempotency-Key": sent.id})
                except (aiohttp.ClientError, TimeoutError):
                    continue
                if answer.status == 201:
                    break
                if answer.status != 503:
                    sent.refused = f"{answer.status} {answer.raw!r}"
                    break
            else:
                sent.refused = "no answer"
            sent.ended = time.monotonic()
            await asyncio.sleep(PAUSE_S)

    async def beat(self, edges: Sequence[Http]) -> None:
        turn = 0
        while not self._stopping:
            turn += 1
            for number, phone in enumerate(PHONES):
                answer = await edges[(number + turn) % len(edges)].beat(phone)
                self.beats_failed += answer.status != 204
            await asyncio.sleep(BEAT_EVERY_S)

    @asynccontextmanager
    async def running(self, client: Client, edges: Sequence[Http]) -> AsyncIterator[Load]:
        """Leaving waits until everything that was sent is answered."""
        bus = CommandBus(client)
        work = [self.by_bus(bus) for _ in range(SENDERS)]
        work += [self.by_http(edges, number) for number in range(SENDERS)]
        tasks = [asyncio.create_task(one) for one in (*work, self.beat(edges))]
        try:
            yield self
        finally:
            self._stopping = True
            await asyncio.gather(*tasks)


@asynccontextmanager
async def edges_of(farm) -> AsyncIterator[list[Http]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(farm.calling(process)) for process in farm.pair("gateway")]
