"""A farm whose history is written straight into a log, and a look at what Postgres made of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest

from drover.domain.event import Event
from drover.domain.fleet.events import DeviceCameOnline, DeviceRegistered, DeviceWentOffline, FleetEvent, PcRegistered
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.postgres.migrate import migrate
from drover.projection.checkpoint import Checkpoint
from drover.projection.memory import MemoryTables
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.form import placed
from drover.readmodel.table import AppendTable, KeyedTable

CODEC = Codec(FleetEvent)
START = datetime(2026, 3, 1, tzinfo=UTC)


class Farm:
    """PCs and phones that come and go, as commits in a log in memory."""

    def __init__(self, name: str = "") -> None:
        """`name`: makes the ids of the commits those of another log."""
        self._name = name
        self.log = MemoryLog(Partition("fleet"))
        self.head = Checkpoint()
        self._phones: list[str] = []
        self._flips = 0

    def log_of(self, partition: Partition) -> MemoryLog:
        """Nothing ever happens in other contexts."""
        return self.log if partition == self.log.partition else MemoryLog(partition)

    async def commit(self, *events: Event) -> None:
        for n, event in enumerate(events, start=self.head.n + 1):
            event.n, event.at, event.by, event.cause = n, START + timedelta(seconds=n), "service_role", f"command-{n}"
        await self.commit_raw(CODEC.encode(events), len(events))

    async def commit_raw(self, payload: bytes, events: int) -> None:
        commit = Commit(f"{self._name}{self.head.seq}", 1, payload)
        seq = await self.log.append(commit, self.head.seq)
        self.head = Checkpoint(seq, self.head.n + events, commit.id)

    async def register(self, phones: int) -> None:
        for _ in range(phones):
            number = len(self._phones)
            phone = str(UUID(int=number + 1))
            self._phones.append(phone)
            pc = [PcRegistered(f"pc-{number // 20}", 20)] if number % 20 == 0 else []
            device = DeviceRegistered(phone, f"SERIAL{number:06d}", "P1-G1", f"pc-{number // 20}", ["youtube"])
            await self.commit(*pc, device)

    async def flip(self, commits: int, events: int = 5) -> None:
        """Phones come online, one after the other, and then go offline again."""
        for _ in range(commits):
            await self.commit(*(self._flip() for _ in range(events)))

    def _flip(self) -> Event:
        turn, index = divmod(self._flips, len(self._phones))
        self._flips += 1
        phone = self._phones[index]
        return DeviceWentOffline(phone, None) if turn % 2 else DeviceCameOnline(phone)


def plain(value: Any) -> Any:
    """The same for a row from memory and a row from Postgres."""
    if isinstance(value, str) and value.startswith("{"):
        return msgspec.json.encode(msgspec.json.decode(value), order="sorted")  # jsonb has an order of its own
    return tuple(value) if isinstance(value, list) else value


class ReadModel:
    """What is in Postgres, and what should be."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self.connection = connection

    async def checkpoint(self) -> Checkpoint:
        row = await self.connection.fetchrow(
            "SELECT seq, n, commit_id FROM drover.checkpoints WHERE schema = $1", FLEET_PROJECTION.schema
        )
        return Checkpoint(*row) if row else Checkpoint()

    async def rows(self) -> dict[str, set[tuple[Any, ...]]]:
        return {table.name: await self._rows_of(table) for table in FLEET_PROJECTION.tables}

    async def _rows_of(self, table: KeyedTable[Any] | AppendTable) -> set[tuple[Any, ...]]:
        columns = ", ".join(f'"{column}"' for column in table.columns)
        records = await self.connection.fetch(placed(f"SELECT {columns} FROM rm_fleet.{table.name}"))
        rows = {tuple(plain(value) for value in record) for record in records}
        assert len(rows) == len(records)
        return rows

    async def expected(self, farm: Farm, checkpoint: Checkpoint) -> dict[str, set[tuple[Any, ...]]]:
        """What the log up to this checkpoint says."""
        tables = MemoryTables(FLEET_PROJECTION)
        for seq in range(1, checkpoint.seq + 1):
            commit = await farm.log.get(seq)
            assert commit is not None
            tables.fold(commit)
        return {t.name: {tuple(map(plain, row)) for row in tables.rows(t)} for t in FLEET_PROJECTION.tables}

    async def agrees(self, farm: Farm) -> bool:
        """Whether the rows are exactly those of the commits that the checkpoint claims."""
        async with self.connection.transaction(isolation="repeatable_read"):
            checkpoint, rows = await self.checkpoint(), await self.rows()
        return rows == await self.expected(farm, checkpoint)


@asynccontextmanager
async def looking(dsn: str) -> AsyncIterator[ReadModel]:
    connection = await asyncpg.connect(dsn)
    try:
        yield ReadModel(connection)
    finally:
        await connection.close()


@pytest.fixture
def look() -> Callable[[str], AbstractAsyncContextManager[ReadModel]]:
    """A look at a read model over a fresh connection, one that no restart has cut."""
    return looking


@pytest.fixture
def farm() -> Farm:
    return Farm()


@pytest.fixture
async def dsn(postgres_dsn: str) -> str:
    await migrate(postgres_dsn)
    return postgres_dsn


@pytest.fixture
async def read_model(dsn: str) -> AsyncIterator[ReadModel]:
    async with looking(dsn) as read_model:
        yield read_model
