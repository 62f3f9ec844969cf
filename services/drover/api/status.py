"""The platform's status: leaders and positions of partitions, lag of read models, devices by status."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import asyncpg
import msgspec
from aiohttp import web
from nats.aio.client import Client

from drover.api.leads import CONNECTED, Lead, NatsState
from drover.eventlog.log import Partition
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import Pool
from drover.readmodel.form import placed, schema_of
from drover.web.answers import json_answer
from drover.web.auth import Principal
from drover.web.permissions import Verb
from drover.web.route import Answer, Permission, Route, handles
from drover.writer.refusals import Refusal

QUERY_S: Final = 2.0

_CHECKPOINTS: Final = "SELECT partition, seq FROM drover.checkpoints WHERE schema = $1"
_DEVICES: Final = placed("""
SELECT status, count(*) AS devices FROM rm_fleet.devices
WHERE (SELECT bool_and(caught_up_at IS NOT NULL) FROM drover.checkpoints WHERE schema = $1)
GROUP BY status
""")
"""No rows while the read model is being built."""


class PartitionStatus(msgspec.Struct):
    context: str
    partition: str
    leader: str | None
    """The instance that holds the lease of the partition and so writes to it; None while there is none."""
    log_seq: int
    projected_seq: int | None
    """The last commit that the read model has applied; None while Postgres is unavailable."""
    behind: int | None
    refusal: Refusal | None
    """Why a command to this partition would be refused now, and what to do about it. Null: it would be accepted."""
    ahead_s: float = 0.0
    """Seconds by which the partition's time is ahead of the wall clock, because a clock was ahead before. New events
    bear that time; deadlines are not delayed."""
    log_full: float | None = None
    """How full the log of the context is, as a share of its limit: 1 is full. Null: it has no limit."""


class PlatformStatus(msgspec.Struct):
    """A short summary of the platform's state."""

    at: datetime
    nats: str
    postgres: str
    partitions: list[PartitionStatus]
    devices: dict[str, int]


class StatusReader:
    def __init__(self, client: Client, pool: Pool, contexts: tuple[str, ...]) -> None:
        self._nats = NatsState(client, contexts)
        self._pool = pool
        self._contexts = contexts

    async def read(self) -> PlatformStatus:
        devices, checkpoints, postgres = await self._ask_postgres()
        leads, nats = await self._nats.leads()
        partitions = [_partition(lead, checkpoints.get(lead.partition)) for lead in leads]
        return PlatformStatus(datetime.now(UTC), nats, postgres, partitions, devices)

    async def _ask_postgres(self) -> tuple[dict[str, int], dict[Partition, int], str]:
        try:
            async with self._pool.acquire(timeout=QUERY_S) as connection:
                checkpoints = {
                    Partition(context, row["partition"]): int(row["seq"])
                    for context in self._contexts
                    for row in await connection.fetch(_CHECKPOINTS, schema_of(context), timeout=QUERY_S)
                }
                rows: list[Any] = await connection.fetch(_DEVICES, schema_of("fleet"), timeout=QUERY_S)
        except asyncpg.UndefinedTableError:
            return {}, {}, "connected, but the read models do not exist yet"
        except POSTGRES_AWAY as error:
            return {}, {}, f"unreachable: {type(error).__name__}"
        return {row["status"]: row["devices"] for row in rows}, checkpoints, CONNECTED


class StatusPage:
    def __init__(self, reader: StatusReader) -> None:
        self._reader = reader

    @handles(
        Route(
            method="GET",
            path="/api/status",
            id="getStatus",
            tag="operations",
            summary="The platform's status in short",
            permission=Permission("status", Verb.READ),
            answers={200: Answer(PlatformStatus, "Also during an outage: it says which server is down")},
        )
    )
    async def get(self, request: web.Request, principal: Principal) -> web.Response:
        return json_answer(await self._reader.read())


def _partition(lead: Lead, projected: int | None) -> PartitionStatus:
    return PartitionStatus(
        context=lead.partition.context,
        partition=lead.partition.name,
        leader=lead.leader,
        log_seq=lead.seq,
        projected_seq=projected,
        behind=None if projected is None else max(0, lead.seq - projected),
        refusal=lead.refusal,
        ahead_s=lead.ahead_s,
        log_full=None if lead.full is None else round(lead.full, 4),
    )
