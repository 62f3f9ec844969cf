"""Events projected from a real log into Postgres, a row each and their devices; against bare COPY of those rows."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from drover.bus.connection import connected
from drover.bus.rows import NatsRows
from drover.domain.event import Event
from drover.domain.fleet.events import DeviceCameOnline, DeviceRegistered, DeviceWentOffline, FleetEvent
from drover.embedded.nats import nats_server
from drover.embedded.postgres import postgres_server
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, EventLog, Partition
from drover.eventlog.streams import ensure_stream
from drover.postgres.migrate import migrate
from drover.postgres.pool import Connection, connect
from drover.projection.memory import MemoryTables
from drover.projection.runtime import Runner
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.events import EVENTS
from drover.readmodel.form import placed, schema_of
from drover.service.process import tune_garbage_collection
from tests.bench.report import Figure, at_least, side_by_side
from tools.read_model_sql import table_ddl

EVENTS_COUNT = 200_000
COMMIT_EVENTS = 500
DEVICES = 10_000


def _history() -> list[Event]:
    """Ten thousand phones that come and go."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    ids = [str(uuid4()) for _ in range(DEVICES)]
    events: list[Event] = [
        DeviceRegistered(device, f"SERIAL{i:08d}", f"P{i // 20}-G1", f"PC-{i // 20}", [])
        for i, device in enumerate(ids)
    ]
    while len(events) < EVENTS_COUNT:
        coming = (len(events) // DEVICES) % 2 == 1
        device = ids[len(events) % DEVICES]
        events.append(DeviceCameOnline(device) if coming else DeviceWentOffline(device, at))
    for n, event in enumerate(events, start=1):
        event.n, event.at, event.by = n, at + timedelta(milliseconds=n), "presence"
        event.cause = f"0197f0a0-1111-7abc-8def-{n:012d}"
    return events


async def _fill(log: EventLog) -> int:
    events, codec, seq = _history(), Codec(FleetEvent), 0
    for start in range(0, EVENTS_COUNT, COMMIT_EVENTS):
        commit = Commit(str(uuid4()), 1, codec.encode(events[start : start + COMMIT_EVENTS]))
        seq = await log.append(commit, seq)
    return seq


async def figures() -> list[Figure]:
    tune_garbage_collection()
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="drover-bench-")))
        nats = await stack.enter_async_context(nats_server(directory))
        postgres = await stack.enter_async_context(postgres_server(directory))
        client = await stack.enter_async_context(connected(nats.url, "bench"))
        await migrate(postgres.dsn)
        await ensure_stream(client, "fleet")
        log = JetStreamLog(client, Partition("fleet"))
        last = await _fill(log)
        connection = await stack.enter_async_context(connect(postgres.dsn, "bench"))
        tables = MemoryTables(FLEET_PROJECTION)
        async with log.read(0) as reader:
            seq = 0
            while seq < last:
                for commit in await reader.next():
                    tables.fold(commit)
                    seq = commit.seq
        rows = tables.rows(EVENTS)

        async def projected() -> float:
            await _clean(
                connection, f"DROP SCHEMA IF EXISTS {schema_of('fleet')} CASCADE", "DELETE FROM drover.checkpoints"
            )
            done = asyncio.Event()

            async def announce(context: str, partition: str, seq: int) -> None:
                if seq == last:
                    done.set()

            started = time.perf_counter()
            async with Runner(FLEET_PROJECTION, log, postgres.dsn, announce, publish=NatsRows(client, schema_of)):
                await done.wait()
                rate = EVENTS_COUNT / (time.perf_counter() - started)
            assert await connection.fetchval(placed("SELECT count(*) FROM rm_fleet.events")) == EVENTS_COUNT
            return rate

        async def copied() -> float:
            await _clean(connection, "DROP SCHEMA IF EXISTS bare CASCADE", "CREATE SCHEMA bare")
            await connection.execute("SET search_path TO bare")
            await connection.execute(table_ddl(EVENTS))
            started = time.perf_counter()
            await connection.copy_records_to_table(
                "events", schema_name="bare", columns=EVENTS.columns, records=rows, timeout=120
            )
            return EVENTS_COUNT / (time.perf_counter() - started)

        ours, limit = await side_by_side(projected, copied)
        return [at_least("spine.events_projected", ours, limit, 0.4, "events/s")]


async def _clean(connection: Connection, *statements: str) -> None:
    for statement in (*statements, "CHECKPOINT"):
        await connection.execute(statement)
