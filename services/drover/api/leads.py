"""What NATS says of every partition: who leads it, whether it would accept a command now, how far its log is."""

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
from drover.service.reasons import reason_of
from drover.writer.acceptance import Acceptance, ask_context
from drover.writer.refusals import Refusal

CONNECTED: Final = "connected"
PING_S: Final = 2


class Lead(NamedTuple):
    """What the log says of a partition."""

    partition: Partition
    leader: str | None
    since: datetime | None
    seq: int
    at: datetime | None
    refusal: Refusal | None = None
    """Why a command would not be accepted now; None: it would."""


class LogState(Protocol):
    """What is asked of NATS."""

    async def leads(self) -> tuple[list[Lead], str]:
        """Of every partition; and how NATS is: `connected`, or what is wrong."""

    async def ping(self) -> float:
        """Milliseconds to NATS and back."""

    @property
    def version(self) -> str | None: ...


class NatsState:
    def __init__(self, client: Client, contexts: Sequence[str] = CONTEXTS) -> None:
        self._client = client
        self._contexts = tuple(contexts)

    async def leads(self) -> tuple[list[Lead], str]:
        found: list[Lead] = []
        status = CONNECTED
        # All at once: a platform on which nothing answers is looked at in the time of one partition.
        answers = await asyncio.gather(*map(self._leads_of, self._contexts), return_exceptions=True)
        for context, answer in zip(self._contexts, answers, strict=True):
            match answer:
                case list():
                    found += answer
                case NotFoundError():
                    status = f"connected, but the log of {context} is not there yet"
                case NatsError() | OSError() | LogUnreachable():
                    return found, f"unreachable: {reason_of(answer)}"
                case fault:
                    raise fault
        return found, status

    async def _leads_of(self, context: str) -> list[Lead]:
        return await asyncio.gather(*map(self._lead, await ask_context(self._client, context)))

    async def _lead(self, found: Acceptance) -> Lead:
        last = await JetStreamLog(self._client, found.partition).last()
        return Lead(
            found.partition,
            found.leader,
            found.leads_since,
            last.seq if last else 0,
            last.stored_at if last else None,
            found.refusal,
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
