"""A rebuild of five million events while others write and read: its rate against bare COPY, and what readers noticed.

`EVENTS=500000 make bench ONLY=rebuild` is the short one. While both read models are there the long one needs about
16 GB of disk.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import msgspec

from drover.bus.connection import connected
from drover.domain.contexts import CONTEXTS
from drover.embedded.nats import nats_server
from drover.embedded.postgres import postgres_server
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import EventLog, Partition
from drover.postgres.migrate import migrate
from drover.postgres.pool import Connection, connect
from drover.projection.memory import MemoryTables
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.events import EVENTS as EVENT_TABLE
from drover.readmodel.form import schema_of
from drover.service.process import tune_garbage_collection
from drover.testing.waiting import eventually
from drover.writer.nats_writer import prepare
from tests.bench.report import Figure, at_least, at_most
from tests.e2e.apart import Farm
from tests.e2e.client import Http
from tests.e2e.process import DroverProcess
from tests.filled.log import fill_log
from tools.read_model_sql import table_ddl

EVENTS = int(os.environ.get("EVENTS", "5_000_000"))
SAMPLE_EVENTS = 200_000
RATIO_AT_LEAST = 0.2
LONGEST_READ_MS = 1_000.0
MEMORY_MB = 400.0
PATIENCE_S = 3_600.0
LOOK_EVERY_S = 0.25
AROUND_S = 0.5
READERS, WRITERS = 3, 2
READ_PAUSE_S, WRITE_PAUSE_S = 0.05, 0.1
READS = (
    "/rest/v1/devices?select=serial_number,status&limit=50",
    "/rest/v1/job_assignments?select=*&limit=20",
    "/rest/v1/jobs?limit=20",
    "/api/jobs",
    "/api/events?limit=50",
    "/api/devices?pc_id=PC-0042",
)


class Life:
    """Whoever works with the platform meanwhile. Every read that does not give its rows has failed."""

    def __init__(self, http: Http) -> None:
        self.took_ms: list[tuple[float, float]] = []
        """When it ended, and how long it took."""
        self.failed: list[str] = []
        self.written = 0
        self._http = http
        self._numbers = count()

    async def read(self) -> None:
        while True:
            path = READS[next(self._numbers) % len(READS)]
            began = time.perf_counter()
            try:
                answer = await self._http.get(path)
                if answer.status != 200:
                    self.failed.append(f"{path}: {answer.status} {answer.raw[:200]!r}")
            except (aiohttp.ClientError, TimeoutError) as error:
                self.failed.append(f"{path}: {error!r}")
            ended = time.perf_counter()
            self.took_ms.append((ended, (ended - began) * 1000))
            await asyncio.sleep(READ_PAUSE_S)

    async def write(self) -> None:
        while True:
            answer = await self._http.register(f"DURING{next(self._numbers):09}")
            assert answer.status == 201, answer
            self.written += 1
            await asyncio.sleep(WRITE_PAUSE_S)

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        work = [self.read() for _ in range(READERS)] + [self.write() for _ in range(WRITERS)]
        tasks = [asyncio.create_task(one) for one in work]
        try:
            yield
            assert not any(task.done() for task in tasks), [task for task in tasks if task.done()]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def longest(self, around: float | None = None) -> float:
        """Of all reads, or of those that were under way about then."""
        return max(
            (
                took
                for ended, took in self.took_ms
                if around is None or ended - took / 1000 - AROUND_S < around < ended + AROUND_S
            ),
            default=0.0,
        )


async def figures() -> list[Figure]:
    tune_garbage_collection()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="drover-bench-")))
        nats = await stack.enter_async_context(nats_server(folder))
        postgres = await stack.enter_async_context(postgres_server(folder))
        client = await stack.enter_async_context(connected(nats.url, "bench"))
        connection = await stack.enter_async_context(connect(postgres.dsn, "bench", command_s=None))
        await migrate(postgres.dsn)
        await prepare(client, CONTEXTS)
        log = JetStreamLog(client, Partition("fleet"))
        began = time.perf_counter()
        _, events = await fill_log(log, EVENTS)
        _say(f"{events:,} events in the log", began)
        limit = await _copied(connection, log)
        farm = Farm(nats, postgres, folder)
        farm.ready_s = PATIENCE_S
        began = time.perf_counter()
        platform = await farm.serve("scheduler", "gateway", "projector", "api", name="platform")
        stack.push_async_callback(platform.end)
        await eventually(lambda: _is_projected(connection, events), PATIENCE_S, every_s=LOOK_EVERY_S)
        _say("projected, by a platform that has just started", began)
        http = await stack.enter_async_context(farm.calling(platform))
        life = Life(http)
        async with life.going_on():
            swap = asyncio.create_task(_swap_seen(connection))
            rebuilt, memory_mb = await _run(farm, "projection", "rebuild", "fleet", "--json")
            outcome = msgspec.json.decode(rebuilt)
            swapped_at = await swap
        verified, verify_mb = await _run(farm, "verify", "--json")
        different = sum(
            table["different"] for line in verified.splitlines() for table in msgspec.json.decode(line)["tables"]
        )
        assert outcome["swapped"], outcome
        size = await connection.fetchval("SELECT pg_database_size(current_database())")
        written = (await client.jetstream().stream_info("FLEET")).state.bytes
        _say(f"database {size / 1e9:.1f} GB, log {written / 1e9:.1f} GB, {life.written:,} commands meanwhile", began)
        for failure in life.failed[:5]:
            print(failure, file=sys.stderr)
        rate = (outcome["events"] - outcome["resumed_at"]) / outcome["fold_s"]
        return [
            at_least("rebuild.events_folded", rate, limit, RATIO_AT_LEAST, "events/s"),
            _none("rebuild.reads_failed", len(life.failed), len(life.took_ms), "reads"),
            at_most("rebuild.longest_read", life.longest(), LONGEST_READ_MS, 1.0, "ms"),
            at_most("rebuild.longest_read_at_the_swap", life.longest(swapped_at), LONGEST_READ_MS, 1.0, "ms"),
            _none("rebuild.rows_that_differ", different, events, "rows"),
            at_most("rebuild.memory", memory_mb, MEMORY_MB, 1.0, "MB"),
            at_most("rebuild.memory_of_verify", verify_mb, MEMORY_MB, 1.0, "MB"),
        ]


def _none(name: str, value: int, of: int, unit: str) -> Figure:
    return Figure(name, value, unit, of, round(value / of, 6), "none", value == 0)


def _say(what: str, began: float) -> None:
    print(f"  {what}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


async def _swap_seen(connection: Connection) -> float:
    """When the schema that serves became another one. Returns some time after that, for reads to be counted."""
    serving = f"SELECT to_regnamespace('{schema_of('fleet')}')::oid"
    before = await connection.fetchval(serving)
    while await connection.fetchval(serving) in (before, None):
        await asyncio.sleep(AROUND_S / 5)
    seen = time.perf_counter()
    await asyncio.sleep(2 * AROUND_S)
    return seen


async def _is_projected(connection: Connection, events: int) -> bool:
    found = await connection.fetchval("SELECT n FROM drover.checkpoints WHERE schema = $1", schema_of("fleet"))
    return found is not None and found >= events


async def _run(farm: Farm, *command: str) -> tuple[str, float]:
    """A command to its end: what it said, and the most memory that it was seen with, in MB."""
    began = time.perf_counter()
    process = DroverProcess(*command, output=farm.folder / f"{command[0]}.log", environ=farm.environ)
    memory = 0
    try:

        def has_ended() -> bool:
            nonlocal memory
            if process.exit_code is None:
                memory = max(memory, process.rss_bytes)
            return process.exit_code is not None

        await eventually(has_ended, PATIENCE_S, every_s=LOOK_EVERY_S)
        assert process.exit_code == 0, process.output
    finally:
        await process.end()
    _say(f"drover {' '.join(command)}", began)
    return process.output, memory / 1e6


async def _copied(connection: Connection, log: EventLog) -> float:
    """Events a second of bare COPY: the same rows of `events`, indices made afterwards, nothing decoded."""
    tables, events = MemoryTables(FLEET_PROJECTION), 0
    async with log.read(0) as reader:
        while events < min(SAMPLE_EVENTS, EVENTS):
            for commit in await reader.next():
                tables.fold(commit)
            events = len(tables.rows(EVENT_TABLE))
    rows = tables.rows(EVENT_TABLE)
    table, _, indices = table_ddl(EVENT_TABLE).partition(";\n")
    await connection.execute("CREATE SCHEMA bare; SET search_path TO bare")
    began = time.perf_counter()
    await connection.execute(table)
    await connection.copy_records_to_table("events", schema_name="bare", columns=EVENT_TABLE.columns, records=rows)
    await connection.execute(indices)
    rate = len(rows) / (time.perf_counter() - began)
    await connection.execute("DROP SCHEMA bare CASCADE; RESET search_path")
    return rate
