"""The state of every partition according to NATS: its leader, its last commit, and whether it would accept a command
now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from drover.domain.contexts import CONTEXTS
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import LogUnreachable, Partition
from drover.eventlog.quotas import QuotaRefused, log_size
from drover.service.reasons import reason_of
from drover.writer.acceptance import Acceptance, ask_context
from drover.writer.refusals import Refusal

CONNECTED: Final = "connected"
PING_S: Final = 2


class Lead(NamedTuple):
    """The state of one partition."""

    partition: Partition
    leader: str | None
    since: datetime | None
    seq: int
    at: datetime | None
    refusal: Refusal | None = None
    """Why a command would be refused now. None: it would be accepted."""
    ahead_s: float = 0.0
    """How far the partition's time is ahead of the wall clock."""
    full: float | None = None
    """How full the log of its context is, as a share of its limit: 1 is full. None: it has no limit."""


class LogState(Protocol):
    """What the status of the platform needs to know from NATS."""

    async def leads(self) -> tuple[list[Lead], str]:
        """Return the state of every partition, and the status of NATS: `connected`, or the error."""

    async def ping(self) -> float:
        """Measure the round-trip time to NATS in milliseconds."""

    @property
    def version(self) -> str | None: ...


class NatsState:
    def __init__(self, client: Client, contexts: Sequence[str] = CONTEXTS) -> None:
        self._client = client
        self._contexts = tuple(contexts)

    async def leads(self) -> tuple[list[Lead], str]:
        found: list[Lead] = []
        status = CONNECTED
        # Concurrently, so that an outage costs the time-out of one partition, not of all.
        answers = await asyncio.gather(*map(self._leads_of, self._contexts), return_exceptions=True)
        for context, answer in zip(self._contexts, answers, strict=True):
            match answer:
                case list():
                    found += answer
                case NotFoundError():
                    status = f"connected, but the log of {context} does not exist yet"
                case NatsError() | OSError() | LogUnreachable() | QuotaRefused():
                    return found, f"unreachable: {reason_of(answer)}"
                case fault:
                    raise fault
        return found, status

    async def _leads_of(self, context: str) -> list[Lead]:
        found = await ask_context(self._client, context)
        full = (await log_size(self._client, context)).share
        return await asyncio.gather(*(self._lead(one, full) for one in found))

    async def _lead(self, found: Acceptance, full: float | None) -> Lead:
        last = await JetStreamLog(self._client, found.partition).last()
        return Lead(
            found.partition,
            found.leader,
            found.leads_since,
            last.seq if last else 0,
            last.stored_at if last else None,
            found.refusal,
            found.ahead_s,
            full,
        )

    async def ping(self) -> float:
        started = time.perf_counter()
        await self._client.flush(timeout=PING_S)
        return round((time.perf_counter() - started) * 1000, 3)

    @property
    def version(self) -> str | None:
        if not self._client.is_connected:
            return None
        told = self._client.connected_server_version
        return f"{told.major}.{told.minor}.{told.patch}"
