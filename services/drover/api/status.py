"""How the platform is: who leads which partition, how far the log and the read models are, how the fleet stands."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import asyncpg
import msgspec
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import LogUnreachable, Partition
from drover.eventlog.streams import partitions_of
from drover.postgres.pool import Pool
from drover.writer.nats_lease import read_holder

QUERY_S: Final = 2.0

_CHECKPOINTS: Final = "SELECT partition, seq FROM drover.checkpoints WHERE schema = 'rm_' || $1"
_DEVICES: Final = "SELECT status, count(*) AS devices FROM rm_fleet.devices GROUP BY status"


class PartitionStatus(msgspec.Struct):
    context: str
    partition: str
    leader: str | None
    """Instance that holds the lease; None while nobody does."""
    log_seq: int
    projected_seq: int | None
    """None while Postgres cannot be asked."""
    behind: int | None


class Status(msgspec.Struct):
    at: datetime
    nats: str
    postgres: str
    partitions: list[PartitionStatus]
    devices: dict[str, int]


class StatusReader:
    def __init__(self, client: Client, pool: Pool, contexts: tuple[str, ...]) -> None:
        self._client = client
        self._pool = pool
        self._contexts = contexts

    async def read(self) -> Status:
        devices, checkpoints, postgres = await self._ask_postgres()
        partitions = []
        nats = "connected"
        for context in self._contexts:
            try:
                partitions += [
                    await self._partition(partition, checkpoints)
                    for partition in await partitions_of(self._client, context)
                ]
            except NotFoundError:
                nats = f"connected, but the log of {context} is not there yet"
            except (NatsError, OSError, LogUnreachable) as error:
                nats = f"unreachable: {error}"
        return Status(datetime.now(UTC), nats, postgres, partitions, devices)

    async def _partition(self, partition: Partition, checkpoints: dict[Partition, int]) -> PartitionStatus:
        holder = await read_holder(self._client, partition)
        last = await JetStreamLog(self._client, partition).last()
        log_seq = last.seq if last else 0
        projected = checkpoints.get(partition)
        return PartitionStatus(
            partition.context,
            partition.name,
            holder.instance if holder else None,
            log_seq,
            projected,
            None if projected is None else max(0, log_seq - projected),
        )

    async def _ask_postgres(self) -> tuple[dict[str, int], dict[Partition, int], str]:
        try:
            async with self._pool.acquire(timeout=QUERY_S) as connection:
                checkpoints = {
                    Partition(context, row["partition"]): int(row["seq"])
                    for context in self._contexts
                    for row in await connection.fetch(_CHECKPOINTS, context, timeout=QUERY_S)
                }
                rows: list[Any] = await connection.fetch(_DEVICES, timeout=QUERY_S)
        except asyncpg.UndefinedTableError:
            return {}, {}, "connected, but the read models are not there yet"
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            return {}, {}, f"unreachable: {type(error).__name__}"
        return {row["status"]: row["devices"] for row in rows}, checkpoints, "connected"
