"""Registers PCs and phones with the platform, and retries until it succeeds."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, TypeVar

import structlog

from drover.agent.backoff import AgentBackoff
from drover.agent.clock import Clock
from drover.agent.protocol import NO_ANSWER, Answer
from drover.simulator.http import ROWS_PER_REQUEST_MAX, Client
from drover.simulator.phone import Identity

READY_EVERY_S: Final = (0.25, 0.5, 1.0, 2.0, 5.0)
"""Seconds between checks whether the platform has started. They are short at first, because a start takes only seconds
on a laptop. The last one repeats."""

LOOKS_FOR_IDS_MAX: Final = 5
CONFLICT: Final = 409

log = structlog.stdlib.get_logger(__name__)

T = TypeVar("T")


async def wait_until_ready(client: Client, clock: Clock) -> None:
    """Wait until the platform accepts requests, however long that takes."""
    attempt = 0
    while not (answer := await client.ready()).ok:
        if attempt == len(READY_EVERY_S):
            log.warning("platform_not_ready", status=answer.status)
        await asyncio.sleep(clock.real_s(READY_EVERY_S[min(attempt, len(READY_EVERY_S) - 1)]))
        attempt += 1


class Registrar:
    """Registers PCs and phones, with the service key. Registrations are retried without limit, with a pause after each
    failure."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def register(self, phones: Sequence[Identity]) -> None:
        """Register these phones and their PCs, unless the platform knows them already."""
        for pc_ids in _chunks(sorted({phone.pc_id for phone in phones})):
            await self._insist(self._register_pcs, pc_ids)
        for chunk in _chunks(phones):
            # 409: some exist already. Rows of an array are independent, so the others are registered now; a phone that
            # was missed all the same gets 404 for its heartbeat and is registered again.
            await self._insist(self._client.register_devices, chunk)

    async def device_ids(self, serial_numbers: Sequence[str]) -> dict[str, str]:
        """Return the platform's ids of these phones. A phone that is still unknown after `LOOKS_FOR_IDS_MAX` requests
        is left out."""
        found: dict[str, str] = {}

        async def look(chunk: Sequence[str]) -> Answer:
            answer, ids = await self._client.device_ids(chunk)
            found.update(ids)
            # A phone that was registered a moment ago may not be in the read model yet.
            return NO_ANSWER if answer.ok and len(ids) < len(chunk) else answer

        for chunk in _chunks(serial_numbers):
            await self._insist(look, chunk, tries_max=LOOKS_FOR_IDS_MAX)
        return found

    async def _register_pcs(self, pc_ids: Sequence[str]) -> Answer:
        """Register PCs that the platform does not know. Registering a known one would reset a capacity that a person
        has changed."""
        answer, known = await self._client.known_pcs(pc_ids)
        missing = [pc_id for pc_id in pc_ids if pc_id not in known]
        return await self._client.register_pcs(missing) if answer.ok and missing else answer

    async def _insist(
        self, ask: Callable[[Sequence[T]], Awaitable[Answer]], rows: Sequence[T], *, tries_max: float = math.inf
    ) -> None:
        backoff, tries = AgentBackoff(), 1
        while not ((answer := await ask(rows)).ok or answer.status == CONFLICT) and tries < tries_max:
            tries += 1
            pause_s = backoff.pause_after(answer, self._clock.now())
            log.warning("registration_failed", rows=len(rows), status=answer.status, again_in_s=pause_s)
            await asyncio.sleep(self._clock.real_s(pause_s))


def _chunks(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), ROWS_PER_REQUEST_MAX):
        yield rows[start : start + ROWS_PER_REQUEST_MAX]
