"""A log of 20 million events beside one of a million: starts, sizes, archive and purge, and what is below the bottom.

`EVENTS=2000000 make bench ONLY=years` is the short one. The long one takes half an hour and 12 GB of disk. The history
is the fleet's, 13 events a commit; the logs of the other contexts have only what a start writes. Of a longer log, the
tables have all devices and the last million events, because to project 20 million would take half an hour more.
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

from nats.aio.client import Client

from drover.archive.archive import Archive
from drover.archive.folder_store import FolderStore
from drover.archive.restoring import restore
from drover.archive.retention import Keep
from drover.archiver.context_archiver import ContextArchiver
from drover.archiver.keeper import ArchiveKeeper
from drover.archiver.newest_snapshots import StoredSnapshots
from drover.archiver.positions import ReaderPositions
from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.domain.contexts import CONTEXTS
from drover.domain.deciders import DECIDERS
from drover.domain.fleet.commands import ChangeDevice
from drover.embedded.nats import nats_server
from drover.embedded.postgres import postgres_server
from drover.eventlog.log import Partition
from drover.eventlog.refill import Refill
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.eventlog.streams import ensure_stream
from drover.history.checkpoints import FoldCheckpoints
from drover.postgres.migrate import migrate
from drover.postgres.pool import Pool, open_pool
from drover.projector.fleet import FLEET_PROJECTION
from drover.service.process import tune_garbage_collection
from drover.testing.waiting import eventually
from drover.writer.nats_writer import prepare
from tests.bench.report import Figure, at_least, at_most, side_by_side
from tests.bench.starts import compared
from tests.e2e.apart import Farm
from tests.e2e.process import DroverProcess
from tests.filled.log import device_id
from tests.filled.long_log import LongLog, Place, fill_long_log

EVENTS = int(os.environ.get("EVENTS", "20_000_000"))
SHORT_EVENTS = 1_000_000
LISTED_EVENTS = 1_000_000
"""How many of the newest events are in the tables."""
LEFT = 0.1
"""The part of the log that stays in NATS."""
PATIENCE_S = 3_600.0
ON_DISK_BYTES, ARCHIVED_BYTES = 170.0, 70.0
RESTORED_COMMITS = 20_000.0
THROUGHPUT = 0.9
CALLERS, LOAD_S = 256, 25.0
ARCHIVE_EVERY_S = 10
"""Six times as often as by default, so that several rounds fall into each load."""
LOAD_DEVICES = 5_000
WRITERS = ("scheduler", "render", "cleanup", "reminder", "api")
ROUNDS = 3

_PROJECTED = "SELECT n FROM drover.checkpoints WHERE schema = $1"
_SKIP = "UPDATE drover.checkpoints SET seq = $2, n = $3, commit_id = $4 WHERE schema = $1"


class Years:
    """A farm with a log of some length."""

    filled: LongLog

    def __init__(self, farm: Farm, client: Client, pool: Pool) -> None:
        self.farm, self.client, self.pool = farm, client, pool
        self.archive = FolderStore(farm.folder / "archive")
        self._numbers = count()

    async def fill(self, events: int) -> None:
        """Fill the log, and the tables with all devices and the newest events."""
        began = time.perf_counter()
        self.filled = filled = await fill_long_log(
            self.client, events, newest=LISTED_EVENTS, populated=lambda place: self.project(place.n)
        )
        last = filled.last
        _say(f"{last.n:,} events in {last.seq:,} commits, {filled.bytes / last.n:.0f} bytes each", began)
        await filled.save_state(FoldCheckpoints(self.pool))
        if filled.job_ended.n:
            await self.skip_to(filled.job_ended)
        began = time.perf_counter()
        await self.project(last.n)
        size = await self.pool.fetchval("SELECT pg_database_size(current_database())")
        _say(f"the events after {filled.job_ended.n:,} projected; the database has {size / 1e9:.1f} GB", began)

    @property
    def events(self) -> int:
        return self.filled.last.n

    async def drover(self, *arguments: str) -> str:
        """Run a command to its end; return what it printed."""
        output = self.farm.folder / f"{next(self._numbers)}-{arguments[0]}.log"
        process = DroverProcess(*arguments, output=output, environ=self.farm.environ)
        try:
            await eventually(lambda: process.exit_code is not None, PATIENCE_S, every_s=0.05)
            assert process.exit_code == 0, process.output
        finally:
            await process.end()
        return process.output

    async def project(self, n: int) -> None:
        """Run a projector until its tables have the event with this number."""

        async def is_there() -> bool:
            found = await self.pool.fetchval(_PROJECTED, FLEET_PROJECTION.schema)
            return found is not None and found >= n

        async with self.serving("projector"):
            await eventually(is_there, PATIENCE_S, every_s=0.5)

    async def skip_to(self, place: Place) -> None:
        """Let the projector go on after this commit, as if it had written the rows of those before it."""
        await self.pool.execute(_SKIP, FLEET_PROJECTION.schema, *place)

    @asynccontextmanager
    async def serving(self, *services: str, **environ: str) -> AsyncIterator[None]:
        process = await self.farm.serve(*services, name=f"{services[0]}-for-{next(self._numbers)}", **environ)
        try:
            yield
        finally:
            await process.end()

    @property
    def stored_bytes(self) -> int:
        """What the stream of the fleet takes on the disk."""
        return _size(next(self.farm.folder.rglob("streams/FLEET")))

    async def archive_and_purge(self) -> None:
        """One round of the archiver, which leaves a tenth of the log in NATS."""
        state = (await self.client.jsm().stream_info("FLEET")).state
        snapshots = StoredSnapshots(JetStreamSnapshots(self.client), DECIDERS)
        await ContextArchiver(
            self.client,
            [Partition("fleet")],
            ArchiveKeeper(self.archive, "fleet"),
            ReaderPositions(self.client, self.pool, snapshots.version),
            snapshots,
            Keep(bytes=int(state.bytes * LEFT)),
        ).round()
        after = (await self.client.jsm().stream_info("FLEET")).state
        assert after.messages <= 1.05 * LEFT * state.messages, (state.messages, after.messages)


@asynccontextmanager
async def _years(folder: Path, events: int) -> AsyncIterator[Years]:
    async with AsyncExitStack() as stack:
        nats = await stack.enter_async_context(nats_server(folder))
        postgres = await stack.enter_async_context(postgres_server(folder))
        client = await stack.enter_async_context(connected(nats.url, "bench"))
        await migrate(postgres.dsn)
        pool = await stack.enter_async_context(open_pool(postgres.dsn, "bench", 2))
        await prepare(client, CONTEXTS)
        farm = Farm(nats, postgres, folder)
        farm.ready_s = PATIENCE_S
        farm.environ["DROVER_ARCHIVE"] = str(folder / "archive")
        years = Years(farm, client, pool)
        await years.fill(events)
        yield years


class Figures:
    """All figures so far. Each is printed at once, because the last one comes late."""

    def __init__(self) -> None:
        self.all: list[Figure] = []

    def __iadd__(self, more: list[Figure]) -> Figures:
        for figure in more:
            mark = "ok" if figure.ok else "MISSED"
            line = f"  {figure.name}: {figure.value:,.4g} {figure.unit}, {figure.ratio} of {figure.limit:,.4g}: {mark}"
            print(line, file=sys.stderr, flush=True)
        self.all += more
        return self


async def figures() -> list[Figure]:
    tune_garbage_collection()
    found = Figures()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="drover-bench-")))
        short = await stack.enter_async_context(_years(folder / "short", SHORT_EVENTS))
        long = await stack.enter_async_context(_years(folder / "long", EVENTS))
        # An edge is ready once a projector has written all rows, also those of the terms that begin here.
        async with short.serving("projector"), long.serving("projector"):
            for service in (*WRITERS, "gateway"):
                found += await compared("whole log", service, short.farm, long.farm)
        found += await compared("whole log", "projector", short.farm, long.farm)
        found += [_each("sealed in NATS", long.stored_bytes, long, ON_DISK_BYTES)]
        before = await _below(short), await _event(long)
        for years in (short, long):
            began = time.perf_counter()
            await years.archive_and_purge()
            _say(f"{years.events:,} events archived, read back, 9/10 purged", began)
        found += [_each("archived", _size(folder / "long" / "archive" / "fleet"), long, ARCHIVED_BYTES)]
        assert (await _below(short), await _event(long)) == before, "below the bottom, all is as it was"
        async with short.serving("projector"), long.serving("projector"):
            for service in ("scheduler", "gateway"):
                found += await compared("9/10 purged", service, short.farm, long.farm)
        found += await compared("9/10 purged", "projector", short.farm, long.farm)
        began = time.perf_counter()
        await short.drover("verify")
        _say(f"verify of {short.events:,} events, most of them from the archive", began)
        found += [await _restored(long, folder / "restored")]
        found += await _throughput(short)
    return found.all


async def _below(years: Years) -> tuple[str, str]:
    """An event and a state that will be below the bottom."""
    moment = years.filled.middle.isoformat()
    began = time.perf_counter()
    state = await years.drover("state", "--as-of", moment, "--context", "fleet", "--json")
    _say(f"drover state --as-of, in the middle of {years.events:,} events", began)
    return state, await _event(years)


async def _event(years: Years) -> str:
    began = time.perf_counter()
    number = str(years.events // 2)
    shown = await years.drover("events", "show", number, "--context", "fleet", "--json")
    _say(f"drover events show {number}", began)
    return shown


async def _restored(years: Years, folder: Path) -> Figure:
    """Commits a second that are put back into an empty log, from the bottom on, and read back."""
    async with nats_server(folder) as nats, connected(nats.url, "bench") as client:
        archive = await Archive.open(years.archive, "fleet")
        await ensure_stream(client, "fleet", first_seq=archive.first)
        put_at = began = time.perf_counter()

        def progress(done: int, of: int) -> None:
            nonlocal put_at
            put_at = time.perf_counter()

        await restore(Refill(client, "fleet"), archive, progress=progress)
        commits = archive.last - archive.first + 1
        _say(f"restored {commits:,} commits; {commits / (put_at - began):,.0f} commits/s before reading back", began)
        rate = commits / (put_at - began)
        return at_least(f"restore of {commits:,} commits", rate, RESTORED_COMMITS, 1.0, "commits/s")


async def _throughput(years: Years) -> list[Figure]:
    """Commands a second over the bus, with an archiver that archives and purges them meanwhile, and without one."""
    archiver = {"DROVER_LOG_KEEP": "1MB", "DROVER_ARCHIVE_EVERY_S": str(ARCHIVE_EVERY_S)}
    bus, numbers = CommandBus(years.client), count()

    async def caller(until: float) -> int:
        sent = 0
        while time.perf_counter() < until:
            nth = next(numbers)
            capabilities = [f"c{nth}"]
            command = ChangeDevice(device_id(nth % LOAD_DEVICES), capabilities=capabilities)
            outcome = await bus.send("fleet", command, by="bench")
            assert outcome.position, outcome
            sent += 1
        return sent

    async def load() -> float:
        began = time.perf_counter()
        sent = await asyncio.gather(*(caller(began + LOAD_S) for _ in range(CALLERS)))
        return sum(sent) / (time.perf_counter() - began)

    async def is_archived() -> bool:
        last = (await years.client.jsm().stream_info("FLEET")).state.last_seq
        return (await Archive.open(years.archive, "fleet")).last == last

    async def archived_load() -> float:
        async with years.serving("archiver", **archiver):
            # What was written without an archiver is not the cost of this load.
            await eventually(is_archived, PATIENCE_S, every_s=0.5)
            before = await _first_and_archived(years)
            rate = await load()
            after = await _first_and_archived(years)
        _say(f"bottom and archive from {before} to {after} under {rate:,.0f} commands/s", began)
        return rate

    began, first = time.perf_counter(), await _first_and_archived(years)
    # The api saves the states of the past, and nothing is purged that they need.
    async with years.serving("scheduler"), years.serving("projector"), years.serving("api"):
        ours, bare = await side_by_side(archived_load, load, ROUNDS)
    bottom, archived = (b - a for a, b in zip(first, await _first_and_archived(years), strict=True))
    return [
        at_least("commands with an archiver / without", ours, bare, THROUGHPUT, "commands/s"),
        at_least("archived meanwhile", archived, 1, 1.0, "commits"),
        at_least("purged meanwhile", bottom, 1, 1.0, "commits"),
    ]


async def _first_and_archived(years: Years) -> tuple[int, int]:
    state = (await years.client.jsm().stream_info("FLEET")).state
    return state.first_seq, (await Archive.open(years.archive, "fleet")).last


def _each(what: str, size: int, years: Years, limit: float) -> Figure:
    return at_most(f"{what}, bytes an event", size / years.events, limit, 1.0, "bytes")


def _size(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def _say(what: str, began: float) -> None:
    print(f"  {what}: {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)
