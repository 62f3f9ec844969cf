"""The roster: the domain's fold, fed from the log by way of the writer's snapshot."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.events import DeviceCameOnline, DeviceRegistered, PcRegistered
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, LogUnreachable, Partition
from drover.eventlog.memory import MemoryLog
from drover.eventlog.snapshots import MemorySnapshots
from drover.gateway.feed import RosterFeed
from drover.gateway.roster import Roster
from drover.testing.waiting import eventually
from drover.writer.fold import Fold, LogBroken, encode_image
from drover.writer.snapshots import snapshot_version
from tests.chunks import each
from tests.unit.gateway.office import device_id

PARTITION = Partition("fleet")
CODEC = Codec.of(FLEET)


def phone(number: int):
    return DeviceRegistered(device_id(number), f"SERIAL{number:04}", "P1-G1", "PC-01", [])


class Farm:
    """A log that grows by commits of one phone each."""

    def __init__(self) -> None:
        self.log = MemoryLog(PARTITION)
        self.snapshots = MemorySnapshots()
        self.seq = 0
        self.n = 0

    async def commit(self, *events) -> None:
        for event in events:
            self.n += 1
            event.n, event.at = self.n, datetime.now(UTC)
        self.seq = await self.log.append(Commit(f"c{self.seq}", 1, CODEC.encode(events)), self.seq)

    async def snapshot(self, up_to: int) -> None:
        fold = Fold(FLEET)
        for seq in range(1, up_to + 1):
            fold.apply(await self.log.get(seq))
        await self.snapshots.save(
            PARTITION, snapshot_version(FLEET), each(encode_image(fold)), seq=fold.seq, commit=fold.commit
        )


@pytest.fixture
async def farm() -> Farm:
    farm = Farm()
    await farm.commit(PcRegistered("PC-01", 20), phone(1))
    await farm.commit(phone(2))
    await farm.commit(phone(3), DeviceCameOnline(device_id(1)))
    return farm


def test_who_subscribed_hears_of_a_commit_when_it_is_folded_and_a_fault_of_theirs_stops_nobody():
    roster, heard = Roster(), []

    def broken(events):
        raise RuntimeError

    roster.subscribe(broken)
    roster.subscribe(lambda events: heard.append((len(roster), list(events), roster.seq)))
    events = [PcRegistered("PC-01", 20), phone(1)]
    roster.apply(events, 7)
    assert heard == [(1, events, 7)]
    assert roster.device("SERIAL0001") is roster.fleet.devices[device_id(1)]
    assert roster.device("SERIAL0002") is None


async def test_it_follows_the_log_from_its_start(farm):
    roster = Roster()
    feed = RosterFeed(farm.log, roster)
    assert feed.why_not_ready() == "The log of fleet has not answered yet."
    async with feed.running():
        await eventually(lambda: roster.complete)
        assert (len(roster), roster.seq, feed.why_not_ready()) == (3, 3, None)
        await farm.commit(phone(4))
        assert await feed.at.wait("fleet", 4, 5)
        assert roster.device("SERIAL0004") is not None


async def test_an_empty_log_is_complete_at_once():
    roster = Roster()
    feed = RosterFeed(MemoryLog(PARTITION), roster)
    async with feed.running():
        await eventually(lambda: roster.complete)
    assert feed.why_not_ready() is None


async def test_it_begins_with_the_writers_snapshot_and_reads_only_what_came_after(farm):
    await farm.snapshot(2)
    read_from = []
    read = farm.log.read
    farm.log.read = lambda after: read_from.append(after) or read(after)
    roster = Roster()
    feed = RosterFeed(farm.log, roster, farm.snapshots)
    async with feed.running():
        await eventually(lambda: roster.complete)
        await farm.commit(phone(4))
        assert await feed.at.wait("fleet", 4, 5)
    assert read_from == [2]
    whole = Roster()
    async with RosterFeed(farm.log, whole).running():
        await eventually(lambda: whole.seq == 4)
    assert roster.fleet == whole.fleet


async def test_a_snapshot_of_all_there_is_makes_it_complete_without_any_commit(farm):
    await farm.snapshot(3)
    roster = Roster()
    feed = RosterFeed(farm.log, roster, farm.snapshots)
    async with feed.running():
        await eventually(lambda: roster.complete)
        assert await feed.at.wait("fleet", 3, 5)
    assert len(roster) == 3


async def test_a_snapshot_that_is_damaged_or_of_another_log_is_ignored(farm):
    for spoil in ("damaged", "ahead"):
        await farm.snapshot(3)
        log = farm.log
        if spoil == "damaged":
            key = next(iter(farm.snapshots.kept))
            farm.snapshots.kept[key] = farm.snapshots.kept[key][:-5]
        else:
            log = MemoryLog(PARTITION)
            await log.append(Commit("x", 1, CODEC.encode([PcRegistered("PC-09", 20, n=1, at=datetime.now(UTC))])), 0)
        roster = Roster()
        async with RosterFeed(log, roster, farm.snapshots).running():
            await eventually(lambda roster=roster: roster.complete)
        assert len(roster) == (3 if spoil == "damaged" else 0)
        assert ("PC-09" in roster.fleet.pcs) == (spoil == "ahead")


async def test_a_log_that_does_not_answer_is_asked_again(farm, monkeypatch):
    monkeypatch.setattr("drover.eventlog.follow.RETRY_PAUSE_S", 0)
    last, tries = farm.log.last, []

    async def flaky():
        tries.append(1)
        if len(tries) < 3:
            raise LogUnreachable
        return await last()

    farm.log.last = flaky
    roster = Roster()
    async with RosterFeed(farm.log, roster).running():
        await eventually(lambda: roster.complete)


async def test_a_log_with_a_hole_in_it_ends_the_feed(farm):
    farm.n += 1
    await farm.commit(phone(4))
    roster = Roster()
    feed = RosterFeed(farm.log, roster)
    async with feed.running():
        with pytest.raises(LogBroken):
            await asyncio.wait_for(feed.wait_failed(), 5)


@pytest.mark.req("YR-14")
async def test_a_snapshot_of_another_history_is_not_mixed_with_the_log(farm):
    await farm.snapshot(3)
    other = MemoryLog(PARTITION)
    for seq in range(1, 4):
        commit = await farm.log.get(seq)
        await other.append(Commit(f"other {seq}", 1, commit.payload), seq - 1)
    read_from = []
    read = other.read
    other.read = lambda after: read_from.append(after) or read(after)
    roster = Roster()
    async with RosterFeed(other, roster, farm.snapshots).running():
        await eventually(lambda: roster.complete)
    assert (read_from, len(roster)) == ([0], 3)


@pytest.mark.req("YR-05")
async def test_a_snapshot_that_is_replaced_while_the_roster_reads_it_is_read_anew(farm):
    await farm.snapshot(1)
    read = farm.snapshots.read

    async def replaced(info):
        if info.seq == 1:
            for seq in (2, 3):
                await farm.snapshot(seq)
        async for chunk in read(info):
            yield chunk

    farm.snapshots.read = replaced
    roster = Roster()
    async with RosterFeed(farm.log, roster, farm.snapshots).running():
        await eventually(lambda: roster.complete)
    assert roster.seq == 3
