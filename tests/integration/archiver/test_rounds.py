"""The archiver's rounds: nothing leaves NATS that is not in the archive, whenever they are interrupted."""

import asyncio
import sys
from datetime import datetime, timedelta

import pytest
from uuid_utils import uuid4

from drover.archive.archive import Archive
from drover.archive.errors import FileDamaged
from drover.archive.purging import purge_unguarded
from drover.archive.retention import Keep
from drover.archive.snapshots import ArchivedSnapshots
from drover.archiver import context_archiver
from drover.bus.connection import connected
from drover.cli.archive_target import Place, Whole
from drover.cli.bar import bar
from drover.eventlog.log import BelowBottom, LastCommitMissing
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.testing.waiting import eventually
from drover.writer.nats_writer import nats_writer, prepare
from tests.integration.archiver.bank_archive import BankArchive
from tests.integration.writer.bank import Count
from tests.integration.writer.bank import bank as make_bank

pytestmark = pytest.mark.req("YR-01")


@pytest.fixture
async def bank(nats, tmp_path):
    async with connected(nats.url, "test") as client:
        context = f"t{uuid4().hex[:12]}"
        await prepare(client, (context,))
        made = BankArchive(client, context, tmp_path / "archive")
        await made.deposit(20)
        yield made


async def test_a_round_archives_and_keeps_all_if_it_is_told_to(bank):
    await bank.archiver(Keep()).round()
    assert await bank.first() == 1
    assert (await Archive.open(bank.store, bank.context)).index.last == (await bank.stream.last()).seq


async def test_without_a_snapshot_nothing_leaves(bank):
    await bank.archiver().round()
    assert await bank.first() == 1


async def test_commits_below_the_snapshot_leave_and_are_read_from_the_archive(bank):
    seq = await bank.take_snapshot()
    await bank.deposit(5)
    last = (await bank.stream.last()).seq
    await bank.archiver().round()
    assert await bank.first() == seq
    assert await bank.every_commit() == [*range(1, last + 1)]
    assert await bank.counted() == 25


async def lost_and_restored(bank, *, snapshots):
    """Let a log with a bottom be lost, with its snapshots, and restore it from the archive."""
    await bank.take_snapshot()
    await bank.deposit(5)
    await bank.archiver().round()
    assert await bank.first() > 1
    await bank.client.jetstream().delete_stream(bank.context.upper())
    await JetStreamSnapshots(bank.client).forget(bank.context)
    archive, place = await Archive.open(bank.store, bank.context), Place(bank.client, None)
    with bar("restore", quiet=True) as tell:
        await place.put(Whole(bank.context, archive.index.partitions, archive), tell, forget=False)
    if snapshots:
        await place.put_snapshots(archive)
    assert await bank.first() == archive.first > 1


def writer_without_archive(bank):
    return nats_writer(bank.client, make_bank(bank.context), instance="bank")


@pytest.mark.req("YR-11")
async def test_after_a_restore_of_a_log_with_a_bottom_a_writer_leads_even_without_the_archive(bank):
    await lost_and_restored(bank, snapshots=True)
    async with writer_without_archive(bank).running() as writer:
        await eventually(writer.leading.is_set, within_s=30)
        assert (await writer.submit(Count(), by="test")).result == 25


@pytest.mark.req("YR-11")
@pytest.mark.control
async def test_without_its_snapshots_such_a_log_can_only_be_led_with_the_archive(bank):
    await lost_and_restored(bank, snapshots=False)
    with pytest.raises(BelowBottom, match="DROVER_ARCHIVE"):
        async with writer_without_archive(bank).running() as writer:
            await writer.wait_failed()
    assert await bank.counted() == 25


async def test_a_writer_without_a_snapshot_in_nats_starts_from_the_archive(bank):
    await bank.take_snapshot()
    await bank.archiver().round()
    await bank.client.jsm().purge_stream("SNAPSHOTS", subject=f"snap.{bank.context}.>")
    assert await bank.first() > 1
    assert await bank.counted() == 20


@pytest.mark.req("YR-05")
async def test_it_starts_from_the_archived_snapshot_and_needs_no_older_commit(bank):
    await bank.take_snapshot()
    await bank.archiver().round()
    await bank.client.jsm().purge_stream("SNAPSHOTS", subject=f"snap.{bank.context}.>")
    assert await bank.first() > 1
    assert await bank.counted(bank.writer(log=bank.stream, archived=ArchivedSnapshots(bank.store))) == 20


async def test_the_snapshot_is_archived_before_anything_leaves(bank):
    seq = await bank.take_snapshot()
    await bank.archiver().round()
    (snapshot,) = (await Archive.open(bank.store, bank.context)).index.snapshots
    assert (snapshot.partition, snapshot.seq) == ("main", seq)
    assert (bank.directory / bank.context / snapshot.file).exists()


async def test_commits_that_a_reader_needs_stay(bank):
    class Slow:
        async def of(self, context, partitions):
            return {"main": {"a reader": 10_000, "a slow reader": 7}}

    await bank.take_snapshot()
    bank.positions = Slow()
    await bank.archiver().round()
    assert await bank.first() == 7


async def test_commits_of_the_last_time_stay(bank):
    await bank.take_snapshot()
    await bank.archiver(Keep(span=timedelta(hours=1))).round()
    assert await bank.first() == 1
    await bank.archiver(Keep(span=timedelta(0))).round()
    assert await bank.first() == (await bank.stream.last()).seq


async def test_a_clock_that_is_ahead_does_not_empty_the_stream(bank, monkeypatch):
    class Ahead(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(days=365)

    await bank.take_snapshot()
    monkeypatch.setattr(context_archiver, "datetime", Ahead)
    await bank.archiver(Keep(span=timedelta(days=30))).round()
    assert await bank.first() == 1


async def test_a_snapshot_beyond_the_archive_is_not_archived(bank, monkeypatch):
    """A log that is restored from the archive ends before it: its writer would refuse to lead."""
    seq, archive = await bank.take_snapshot(), bank.keeper.archive

    async def then_a_newer_snapshot(logs):
        archived = await archive(logs)
        await bank.deposit(3)
        await bank.take_snapshot()
        return archived

    monkeypatch.setattr(bank.keeper, "archive", then_a_newer_snapshot)
    await bank.archiver().round()
    (snapshot,) = (await Archive.open(bank.store, bank.context)).index.snapshots
    assert snapshot.seq == seq == await bank.first()


async def test_a_damaged_segment_keeps_its_commits_in_nats(bank):
    await bank.archiver(Keep()).round()
    await bank.take_snapshot()
    (file,) = (bank.directory / bank.context).glob("*.zst")
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(FileDamaged):
        await bank.archiver().round()
    assert await bank.first() == 1


async def test_a_partition_that_has_an_archive_but_no_last_commit_is_not_led(bank):
    await bank.archiver(Keep()).round()
    await purge_unguarded(bank.client, bank.partition, below=10_000)
    async with bank.writer().running() as writer:
        with pytest.raises(LastCommitMissing, match="drover archive restore"):
            await asyncio.wait_for(writer.wait_failed(), 30)


class Killed(BaseException):
    """What stands for the end of the process."""


STEPS = ["archive", "lasts", "snapshot", "save_snapshot", "check", "record_bottom"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", [*STEPS, "positions", "purge"])
async def test_a_round_that_ends_at_any_step_loses_nothing_and_the_next_one_completes_it(bank, monkeypatch, step, when):
    seq = await bank.take_snapshot()
    owner, name = {"positions": (bank.positions, "of"), "purge": (context_archiver, "purge")}.get(
        step, (bank.keeper, step)
    )
    real, reached = getattr(owner, name), []

    async def killed(*arguments, **options):
        reached.append(step)
        if when == "after":
            await real(*arguments, **options)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, killed)
        with pytest.raises(Killed):
            await bank.archiver().round()
    assert reached
    last = (await bank.stream.last()).seq
    if await bank.first() > 1:
        assert (step, when) == ("purge", "after")
        assert (await Archive.open(bank.store, bank.context)).index.last == last
        assert await bank.every_commit() == [*range(1, last + 1)]
    await bank.archiver().round()
    assert await bank.first() == seq
    assert await bank.every_commit() == [*range(1, last + 1)]


@pytest.mark.slow
async def test_an_archiver_that_is_killed_again_and_again_loses_nothing(bank, nats):
    """kill -9 while it writes a file, after a new segment, and after a purge."""
    folder = bank.directory / bank.context
    index = folder / "index.json"
    deposits = 20
    for round_ in range(6):
        before = index.read_bytes() if index.exists() else b""
        bottom = await bank.first()

        async def has_purged(bottom=bottom):
            return await bank.first() > bottom

        async def has_written(before=before):
            return index.exists() and index.read_bytes() != before

        async def writes(before=before):
            return any(folder.glob(".segment.*")) or await has_written(before)

        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.integration.archiver.bank_archive", nats.url, bank.context, bank.directory
        )
        try:
            await eventually((writes, has_written, has_purged)[round_ % 3] if round_ else writes, within_s=60)
        finally:
            process.kill()
            await process.wait()
        last = (await bank.stream.last()).seq
        if await bank.first() > 1:
            assert await bank.every_commit() == [*range(1, last + 1)]
        await bank.deposit(10)
        deposits += 10
        await bank.take_snapshot()
    await bank.archiver().round()
    assert await bank.every_commit() == [*range(1, (await bank.stream.last()).seq + 1)]
    assert await bank.counted() == deposits
