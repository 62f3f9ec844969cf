"""Asks whether a partition would accept a command now. All of Drover uses this answer to say whether a partition is
healthy.

The leader answers in the same loop that decides commands, without appending anything. If no answer comes, the lease
tells which process should have answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, Final

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.js.errors import NotFoundError

from drover.bus.subscription import subscribed
from drover.eventlog.log import Partition
from drover.eventlog.streams import has_commits, partitions_of
from drover.service.tasks import end
from drover.writer import refusals
from drover.writer.nats_lease import KnownLease, read_lease
from drover.writer.refusals import Refusal
from drover.writer.writer import PROBE_S, Writer

ANSWER_S: Final = PROBE_S + 0.3
"""The time-out for the leader's answer. A working leader answers within PROBE_S; one that takes longer hangs."""
REMOVED_WITHIN_S: Final = 5.0
"""How many seconds a NATS server that can write takes at most to remove the key of an expired lease."""
WAITING_MAX: Final = 1_000
"""How many callers may wait for the same answer. Further ones get no answer."""


class Acceptance(msgspec.Struct, frozen=True):
    partition: Partition
    leader: str | None
    """The instance that holds the lease. None: nobody holds it."""
    leads_since: datetime | None
    refusal: Refusal | None
    """Why a command would be refused now. None: it would be accepted."""
    ahead_s: float = 0.0
    """How many seconds the partition's time is ahead of the wall clock, as its leader says."""


class _Answer(msgspec.Struct):
    refusal: Refusal | None
    ahead_s: float = 0.0


_decode: Final = msgspec.json.Decoder(_Answer).decode


def subject_of(partition: Partition) -> str:
    return f"probe.{partition.context}.{partition.name}"


async def ask(client: Client, partition: Partition) -> Acceptance:
    """Ask the leader of a partition whether it would accept a command. Raises NatsError or OSError if NATS itself does
    not answer."""
    lease, answer = await asyncio.gather(read_lease(client, partition), _probe(client, partition))
    refusal = answer.refusal if isinstance(answer, _Answer) else _why_silent(partition, lease, answer)
    holder = lease.holder if lease is not None and lease.is_current else None
    return Acceptance(
        partition,
        holder.instance if holder else None,
        holder.since if holder else None,
        refusal,
        answer.ahead_s if isinstance(answer, _Answer) else 0.0,
    )


async def ask_context(client: Client, context: str) -> list[Acceptance]:
    """Ask the leader of each partition of a context whether it accepts commands. Raises NotFoundError if the context
    has no log yet."""
    partitions = await partitions_of(client, context)
    return await asyncio.gather(*(ask(client, partition) for partition in partitions))


async def ask_in_use(client: Client, contexts: Iterable[str]) -> list[Acceptance]:
    """Ask the leaders of all partitions of these contexts. A context without commits is left out, because no writer has
    ever led there."""

    async def of(context: str) -> list[Acceptance]:
        try:
            return await ask_context(client, context) if await has_commits(client, context) else []
        except NotFoundError:
            return []

    return [one for found in await asyncio.gather(*map(of, contexts)) for one in found]


async def _probe(client: Client, partition: Partition) -> _Answer | Exception:
    try:
        return _decode((await client.request(subject_of(partition), b"", timeout=ANSWER_S)).data)
    except (NatsError, OSError) as error:  # the time-out of nats-py is an OSError
        return error


def _why_silent(partition: Partition, lease: KnownLease | None, error: Exception) -> Refusal:
    if lease is None:
        return refusals.no_leader(partition)
    leader = lease.holder.instance
    if lease.left_s < -REMOVED_WITHIN_S:
        return refusals.lease_stale(partition, leader, -lease.left_s)
    if not lease.is_current:
        return refusals.no_leader(partition)
    if isinstance(error, NoRespondersError):
        return refusals.not_listening(partition, leader)
    return refusals.no_answer(partition, leader, ANSWER_S)


@asynccontextmanager
async def answering_probes(client: Client, writer: Writer[Any]) -> AsyncIterator[None]:
    """Answer the requests that `ask` sends, for the length of the block, which is one term. Requests that come at the
    same time share one answer."""
    waiting: list[Msg] = []
    answering: asyncio.Task[None] | None = None

    async def answer() -> None:
        nonlocal answering
        body = msgspec.json.encode(_Answer(await writer.probe(), writer.ahead_s))
        answering, probes = None, waiting[:]
        waiting.clear()
        for message in probes:
            with suppress(NatsError, OSError):
                await message.respond(body)

    async def on_message(message: Msg) -> None:
        nonlocal answering
        if len(waiting) < WAITING_MAX:
            waiting.append(message)
        if answering is None:
            answering = asyncio.create_task(answer(), name=subject_of(writer.partition))

    try:
        async with subscribed(client, subject_of(writer.partition), on_message):
            yield
    finally:
        if answering is not None:
            await end(answering)
