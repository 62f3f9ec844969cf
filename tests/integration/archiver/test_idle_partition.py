"""A context of which one partition is idle: its last commit stays, far below those of the others."""

from datetime import UTC, datetime

import pytest
from uuid_utils import uuid4

from drover.archive import index as indices
from drover.archive import segment as segments
from drover.archive.archive import Archive
from drover.archive.folder_store import FolderStore
from drover.archive.retention import Keep
from drover.archiver.context_archiver import ContextArchiver
from drover.archiver.keeper import ArchiveKeeper
from drover.archiver.newest_snapshots import NewestSnapshot
from drover.bus.connection import connected
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.eventlog.snapshots import SnapshotInfo
from drover.eventlog.streams import ensure_stream
from tests.chunks import each
from tests.integration.archiver.bank_archive import AtTheEnd
from tests.unit.archive.conftest import Stream

pytestmark = pytest.mark.req("YR-01")

BUSY, IDLE = "p0", "p1"


class AlwaysASnapshot:
    def version(self, context):
        return "v1"

    async def newest(self, partition, up_to):
        now = datetime.now(UTC)
        fields = {"commit": "", "bytes": 5, "saved_at": now, "chunks": 1, "sha256": "", "id": "id"}
        info = SnapshotInfo(partition=partition, version="v1", seq=up_to, **fields)
        return NewestSnapshot(info, each(b"state"))


class Read(FolderStore):
    """Notes which segments were read."""

    def __init__(self, directory):
        super().__init__(directory)
        self.names_read = []

    async def read(self, name, bytes_max):
        self.names_read.append(name)
        return await super().read(name, bytes_max)

    def segments_read(self):
        found = [name for name in self.names_read if name.endswith(".zst")]
        self.names_read.clear()
        return found


class Divided:
    def __init__(self, client, directory):
        self.stream = Stream(BUSY, IDLE, context=f"t{uuid4().hex[:12]}")
        self.partitions = [Partition(self.stream.context, name) for name in self.stream.partitions]
        self.logs = {one.name: JetStreamLog(client, one) for one in self.partitions}
        self.client, self.store = client, Read(directory)

    async def commit(self, partition, count=1):
        for _ in range(count):
            self.stream.commit(partition=partition)
            commit = self.stream.placed[-1].commit
            last = await self.logs[partition].last()
            await self.logs[partition].append(Commit(commit.id, 1, commit.payload), last.seq if last else 0)

    async def round(self, keep):
        keeper = ArchiveKeeper(self.store, self.stream.context)
        await ContextArchiver(
            self.client, self.partitions, keeper, AtTheEnd(self.client), AlwaysASnapshot(), keep
        ).round()

    async def size(self):
        return (await self.client.jetstream().stream_info(self.stream.context.upper())).state.bytes

    async def first(self, partition):
        return (await self.logs[partition].next_after(0)).seq


@pytest.fixture
async def divided(nats, tmp_path, monkeypatch):
    for module in (indices, segments):
        monkeypatch.setattr(module, "SEGMENT_TEXT_BYTES", 2_000)
    async with connected(nats.url, "test") as client:
        made = Divided(client, tmp_path / "archive")
        await ensure_stream(client, made.stream.context, partitions=2)
        await made.commit(IDLE)
        yield made


async def test_the_busy_one_stays_within_its_size(divided):
    for round_ in range(1, 4):
        await divided.commit(BUSY, 40)
        await divided.round(Keep(bytes=5_000))
        assert await divided.size() < 5_500, f"in round {round_}"
    assert await divided.first(IDLE) == 1
    assert await divided.first(BUSY) > 100


async def test_only_what_leaves_is_read_back(divided):
    """Everything above the idle one's last commit is years of the archive."""
    await divided.commit(BUSY, 100)
    await divided.round(Keep(bytes=5_000))
    first = await divided.first(BUSY)
    await divided.commit(BUSY, 2)
    await divided.round(Keep())
    divided.store.segments_read()
    await divided.round(Keep(bytes=5_000))
    archive = await Archive.open(divided.store, divided.stream.context)
    expected = range(await archive.number_of(first), await archive.number_of(await divided.first(BUSY) - 1) + 1)
    names = [f"{divided.stream.context}/{archive.index.segments[number].file}" for number in expected]
    assert 0 < len(names) < len(archive.index.segments) - 2
    assert divided.store.segments_read() == names
