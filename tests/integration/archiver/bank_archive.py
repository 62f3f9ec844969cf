"""The log of a bank with its archive, and the archiver's rounds for it. As a program: rounds until it is killed."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path

from drover.archive.archive import Archive
from drover.archive.folder_store import FolderStore
from drover.archive.retention import Keep
from drover.archive.whole_log import WholeLog
from drover.archiver.context_archiver import ContextArchiver
from drover.archiver.keeper import ArchiveKeeper
from drover.archiver.newest_snapshots import StoredSnapshots
from drover.bus.connection import connected
from drover.eventlog.follow import follow
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.testing.waiting import eventually
from drover.writer.fold import Fold, encode_image
from drover.writer.nats_writer import nats_writer
from drover.writer.snapshots import snapshot_version
from tests.chunks import each
from tests.integration.writer.bank import Count, Deposit, bank

SMALL = Keep(bytes=1)
"""Nothing is to stay in NATS, except what must."""


class AtTheEnd:
    """Readers that have handled all."""

    def __init__(self, client):
        self._client = client

    async def of(self, context, partitions):
        return {one.name: {"a reader": (await JetStreamLog(self._client, one).last()).seq} for one in partitions}


class BankArchive:
    def __init__(self, client, context, directory):
        self.client, self.context, self.directory = client, context, directory
        self.store = FolderStore(directory)
        self.partition = Partition(context)
        self.stream = JetStreamLog(client, self.partition)
        self.snapshots = StoredSnapshots(JetStreamSnapshots(client), {context: bank(context)})
        self.keeper = ArchiveKeeper(self.store, context)
        self.positions = AtTheEnd(client)

    @property
    def whole(self):
        return WholeLog(self.stream, partial(Archive.open, self.store, self.context))

    def archiver(self, keep=SMALL):
        return ContextArchiver(self.client, [self.partition], self.keeper, self.positions, self.snapshots, keep)

    async def first(self):
        return (await self.stream.next_after(0)).seq

    def writer(self, log=None, archived=None):
        return nats_writer(
            self.client,
            bank(self.context),
            instance="bank",
            open_log=lambda partition: log or self.whole,
            archived=archived,
        )

    async def deposit(self, count):
        async with self.writer().running() as writer:
            await eventually(writer.leading.is_set, within_s=30)
            for number in range(count):
                await writer.submit(Deposit(str(number)), by="test")

    async def counted(self, writer=None):
        """What a writer that starts anew says."""
        async with (writer or self.writer()).running() as writer:
            await eventually(writer.leading.is_set, within_s=30)
            return (await writer.submit(Count(), by="test")).result

    async def take_snapshot(self, upto=None):
        fold = Fold(bank(self.context))
        upto = upto or (await self.stream.last()).seq
        await follow(self.whole, 0, fold.apply, until=upto)
        version, data = snapshot_version(bank(self.context)), each(encode_image(fold))
        await JetStreamSnapshots(self.client).save(self.partition, version, data, seq=fold.seq, commit=fold.commit)
        return upto

    async def every_commit(self):
        last, found = (await self.stream.last()).seq, []
        async with self.whole.read(0) as reader:
            while not found or found[-1] < last:
                found += [one.seq for one in await reader.next()]
        return found


async def main(url, context, directory):
    async with connected(url, "archiver") as client:
        archiver = BankArchive(client, context, Path(directory)).archiver()
        while True:
            await archiver.round()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
