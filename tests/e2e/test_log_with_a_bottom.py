"""A farm whose log has lost nine tenths to the archive: everything is read as if nothing had moved."""

from __future__ import annotations

import itertools
import shutil
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from drover.archive.folder_store import FolderStore
from drover.archive.retention import Keep
from drover.archive.whole_log import open_log
from drover.archiver.context_archiver import ContextArchiver
from drover.archiver.keeper import ArchiveKeeper
from drover.archiver.newest_snapshots import StoredSnapshots
from drover.archiver.positions import ReaderPositions
from drover.bus.connection import connected
from drover.cli.exits import Exit
from drover.domain.contexts import CONTEXTS
from drover.domain.deciders import DECIDERS
from drover.eventlog.follow import follow
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.eventlog.streams import partitions_of
from drover.postgres.pool import open_pool
from drover.testing.waiting import eventually
from drover.writer.fold import Fold, encode_image
from drover.writer.snapshots import snapshot_version
from tests.chunks import each
from tests.e2e.process import run_to_the_end

LIVED_S = 150.0
COMMITS = 400
"""In the log of the fleet."""


class Farm:
    def __init__(self, tmp_path: Path) -> None:
        self.archive = tmp_path / "archive"
        # The archiver of the platform copies once; the rounds that purge are the test's own, with a limit of a few kB.
        self.environ = {"DROVER_ARCHIVE": str(self.archive), "DROVER_ARCHIVE_EVERY_S": "86400"}
        self._tmp_path = tmp_path
        self._numbers = itertools.count()

    async def drover(self, *arguments: str) -> tuple[int, str]:
        output = self._tmp_path / f"{next(self._numbers)}-{arguments[0]}.log"
        asked = (*arguments, "--data-dir", self._tmp_path / "data")
        return await run_to_the_end(*asked, output=output, environ=self.environ)

    async def purge(self, platform) -> dict[str, float]:
        """Let the archiver's rounds remove nine tenths. Return how much of each log is left in NATS."""
        left = {}
        async with (
            connected(platform.credentials["nats_url"], "test") as client,
            open_pool(platform.credentials["postgres_url"], "test", 2) as pool,
        ):
            for context in CONTEXTS:
                partitions = await partitions_of(client, context)
                await _take_snapshots(client, partitions)
                snapshots = StoredSnapshots(JetStreamSnapshots(client), DECIDERS)
                state = (await client.jsm().stream_info(context.upper())).state
                await ContextArchiver(
                    client,
                    partitions,
                    ArchiveKeeper(FolderStore(self.archive), context),
                    ReaderPositions(client, pool, snapshots.version),
                    snapshots,
                    Keep(bytes=state.bytes // 12),
                ).round()
                state = (await client.jsm().stream_info(context.upper())).state
                left[context] = state.messages / state.last_seq
        return left


async def _take_snapshots(client, partitions):
    """Save the state of each partition, as its writer does after 50,000 events."""
    for partition in partitions:
        decider = DECIDERS[partition.context]
        log, fold = open_log(client, partition, None), Fold(decider)
        last = await log.last()
        await follow(log, 0, fold.apply, until=last.seq if last else 0)
        if last is not None:
            data = each(encode_image(fold))
            await JetStreamSnapshots(client).save(
                partition, snapshot_version(decider), data, seq=fold.seq, commit=fold.commit
            )


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.req("YR-01", "YR-02", "EV-03", "EV-06")
async def test_with_nine_tenths_of_the_log_in_the_archive_all_is_read_as_before(start, tmp_path):
    farm = Farm(tmp_path)
    platform = await start("--demo", **farm.environ)

    async def lived():
        async with connected(platform.credentials["nats_url"], "test") as client:
            return (await client.jsm().stream_info("FLEET")).state.messages >= COMMITS

    await eventually(lived, LIVED_S, every_s=1.0)
    moment = datetime.now(UTC).isoformat()
    await platform.end()
    platform = await start(**farm.environ)
    async with platform.calling() as http:
        then = await http.call("GET", "/api/moments/fleet?as_of=" + moment.replace("+", "%2B"))
        assert then.status == 200
    code, state = await farm.drover("state", "--as-of", moment, "--context", "fleet", "--json")
    assert code == Exit.OK, state
    code, first = await farm.drover("events", "show", "1", "--context", "fleet", "--json")
    assert code == Exit.OK, first

    left = await farm.purge(platform)
    assert left["fleet"] <= 0.1, left

    assert await farm.drover("events", "show", "1", "--context", "fleet", "--json") == (Exit.OK, first)
    assert await farm.drover("state", "--as-of", moment, "--context", "fleet", "--json") == (Exit.OK, state)
    code, said = await farm.drover("verify")
    assert code == Exit.OK, said
    code, said = await farm.drover("projection", "rebuild", "--json")
    assert code == Exit.OK, said
    rebuilt = [msgspec.json.decode(line) for line in said.splitlines()]
    assert [one["resumed_at"] for one in rebuilt] == [0] * len(CONTEXTS), "each began at the first event"
    assert sum(table["different"] for one in rebuilt for table in one["tables"]) == 0, "row by row the same as before"
    assert (await farm.drover("verify"))[0] == Exit.OK

    await platform.end()
    shutil.rmtree(platform.data_dir / "postgres")
    platform = await start(**farm.environ)
    async with platform.calling() as http:
        now = await http.call("GET", "/api/moments/fleet?as_of=" + moment.replace("+", "%2B"))
        assert (now.status, now.json) == (200, then.json)
        assert (await http.register("AFTER00001")).status == 201, "the gateway and the writer work"

        async def shown():
            return [row for row in await http.rows("devices") if row["serial_number"] == "AFTER00001"]

        await eventually(shown, 60.0)
    code, said = await farm.drover("verify")
    assert code == Exit.OK, said
