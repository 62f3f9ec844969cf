"""What a start reads: the snapshot and the commits after it, however long the log is."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from drover.bus.connection import connected
from drover.domain.fleet import FLEET
from drover.domain.fleet import events as e
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition, StoredCommit
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.gateway.feed import RosterFeed
from drover.gateway.roster import Roster
from drover.testing.virtual_time import LoopClock
from drover.testing.waiting import eventually
from drover.writer.fold import Fold, encode_image
from drover.writer.nats_writer import nats_writer, prepare
from drover.writer.snapshots import snapshot_version
from tests.chunks import each
from tests.contract.nats.conftest import is_simulated

pytestmark = pytest.mark.req("YR-04")

FLEET_LOG = Partition("fleet")
SHORT, LONG = 100, 1_000
AFTER_SNAPSHOT = 40
PHONE = "9d0d6786-3a10-814f-9499-000000000001"


def _commits(count):
    """A phone that comes and goes, slowly: commands of the last ten minutes are remembered."""
    codec, at = Codec.of(FLEET), datetime(2026, 1, 1, tzinfo=UTC)
    for seq in range(1, count + 1):
        if seq == 1:
            event = e.PcRegistered("PC-1", 20)
        elif seq == 2:
            event = e.DeviceRegistered(PHONE, "SERIAL0001", "P1-G1", "PC-1", [])
        else:
            event = e.DeviceWentOffline(PHONE, None) if seq % 2 else e.DeviceCameOnline(PHONE)
        event.n, event.at, event.by, event.cause = seq, at + timedelta(minutes=seq), "test", f"command-{seq}"
        yield StoredCommit(seq, f"commit-{seq}", 1, event.at, codec.encode([event]))


async def _fill(client, count):
    """Write a log with a snapshot shortly before its end, both as a writer does."""
    await prepare(client, ("fleet",))
    log, fold, commits = JetStreamLog(client, FLEET_LOG), Fold(FLEET), list(_commits(count))
    for commit in commits:
        await log.append(Commit(commit.id, commit.epoch, commit.payload), commit.seq - 1)
    for commit in commits[:-AFTER_SNAPSHOT]:
        fold.apply(commit)
    data = each(encode_image(fold))
    await JetStreamSnapshots(client).save(FLEET_LOG, snapshot_version(FLEET), data, seq=fold.seq, commit=fold.commit)


async def _writer_starts(client):
    clock = LoopClock(asyncio.get_running_loop()) if is_simulated() else None
    async with nats_writer(client, FLEET, instance="test", clock=clock).running() as writer:
        await eventually(writer.leading.is_set)


async def _gateway_starts(client):
    feed = RosterFeed(JetStreamLog(client, FLEET_LOG), Roster(), JetStreamSnapshots(client))
    async with feed.running():
        await eventually(lambda: feed.why_not_ready() is None)


async def _read_bytes(server, start):
    """How many bytes a process receives from NATS while it starts."""
    async with connected(server.url, "starting") as client:
        before = client.stats["in_bytes"]
        await start(client)
        return client.stats["in_bytes"] - before


@pytest.mark.parametrize("start", [_writer_starts, _gateway_starts])
async def test_a_start_reads_as_much_of_a_long_log_as_of_a_short_one(own_server, start):
    read = {}
    for count in (SHORT, LONG):
        async with connected(own_server.url, "filling") as client:
            await _fill(client, count)
            read[count] = await _read_bytes(own_server, start)
            await JetStreamSnapshots(client).forget("fleet")
            without = await _read_bytes(own_server, start)
            await client.jsm().delete_stream("FLEET")
    assert 0 < read[LONG] <= 1.3 * read[SHORT]
    assert without > 5 * read[LONG], "without the snapshot it reads the whole log"
