"""How the platform is: who leads which partition, how far the log and the read models are, how the fleet stands."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import asyncpg
import msgspec
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import LogUnreachable, Partition
from drover.postgres.pool import Pool
from drover.writer.nats_lease import read_holder

QUERY_S: Final = 2.0

_CHECKPOINTS: Final = """
SELECT partition, seq, n, updated_at FROM drover.checkpoints WHERE schema = 'rm_' || $1
"""
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
            partition = Partition(context)
            try:
                holder = await read_holder(self._client, partition)
                last = await JetStreamLog(self._client, partition).last()
            except (NatsError, OSError, LogUnreachable) as error:
                nats = f"unreachable: {error}"
                continue
            log_seq = last.seq if last else 0
            projected = checkpoints.get(context)
            partitions.append(
                PartitionStatus(
                    context,
                    partition.name,
                    holder.instance if holder else None,
                    log_seq,
                    projected,
                    None if projected is None else max(0, log_seq - projected),
                )
            )
        return Status(datetime.now(UTC), nats, postgres, partitions, devices)

    async def _ask_postgres(self) -> tuple[dict[str, int], dict[str, int], str]:
        try:
            async with self._pool.acquire(timeout=QUERY_S) as connection:
                checkpoints: dict[str, int] = {}
                for context in self._contexts:
                    for row in await connection.fetch(_CHECKPOINTS, context, timeout=QUERY_S):
                        checkpoints[context] = row["seq"]
                rows: list[Any] = await connection.fetch(_DEVICES, timeout=QUERY_S)
        except asyncpg.UndefinedTableError:
            return {}, {}, "connected, but the read models are not there yet"
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            return {}, {}, f"unreachable: {type(error).__name__}"
        return {row["status"]: row["devices"] for row in rows}, checkpoints, "connected"
