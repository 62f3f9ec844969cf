"""Batches from the log and the rows that they touch: their bounds, and what stops them."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from drover.domain.fleet.events import FleetEvent, PcRegistered
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.projection.batch import BatchTables
from drover.projection.checkpoint import Checkpoint
from drover.projection.errors import ProjectionStopped, UndeclaredRow
from drover.projection.feed import Feed
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.fleet.devices import DEVICES, PCS, PcRow

FLEET = Partition("fleet")
CODEC = Codec(FleetEvent)
AT = datetime(2026, 3, 1, tzinfo=UTC)


def pc(n: int) -> PcRegistered:
    return PcRegistered(f"pc-{n}", 20, n=n, at=AT)


async def log_of(*commits: bytes) -> MemoryLog:
    log = MemoryLog(FLEET)
    for expected, payload in enumerate(commits):
        await log.append(Commit(str(expected), 1, payload), expected)
    return log


async def test_a_batch_takes_whole_commits_up_to_its_bound_of_events() -> None:
    log = await log_of(*(CODEC.encode([pc(2 * i + 1), pc(2 * i + 2)]) for i in range(5)))
    async with log.read(0) as reader:
        feed = Feed(reader, CODEC, FLEET, Checkpoint(), events_max=3)
        batches = [await feed.batch() for _ in range(3)]
    assert [batch.new for batch in batches] == [Checkpoint(2, 4, "1"), Checkpoint(4, 8, "3"), Checkpoint(5, 10, "4")]
    assert [batch.behind for batch in batches] == [3, 1, 0]


async def test_a_batch_ends_at_its_bound_of_bytes() -> None:
    log = await log_of(*(CODEC.encode([pc(i)]) for i in range(1, 4)))
    async with log.read(0) as reader:
        feed = Feed(reader, CODEC, FLEET, Checkpoint(), bytes_max=1)
        assert (await feed.batch()).new == Checkpoint(1, 1, "0")


async def test_a_gap_in_the_ordinals_stops_with_what_was_expected_and_found() -> None:
    log = await log_of(CODEC.encode([pc(1)]), CODEC.encode([pc(2), pc(4)]))
    async with log.read(0) as reader:
        feed = Feed(reader, CODEC, FLEET, Checkpoint())
        assert (await feed.batch()).new == Checkpoint(1, 1, "0")
        with pytest.raises(ProjectionStopped) as caught:
            await feed.batch()
    assert caught.value.reason == "gap"
    assert caught.value.details == {"seq": 2, "expected_n": 3, "found_n": 4}


async def test_an_unknown_event_stops_for_good_but_only_behind_everything_before_it() -> None:
    log = await log_of(CODEC.encode([pc(1)]), b'{"type":"PhoneSang","n":2}\n', CODEC.encode([pc(3)]))
    async with log.read(0) as reader:
        feed = Feed(reader, CODEC, FLEET, Checkpoint())
        assert (await feed.batch()).new == Checkpoint(1, 1, "0")
        for _ in range(2):
            with pytest.raises(ProjectionStopped) as caught:
                await feed.batch()
    assert (caught.value.reason, caught.value.details["seq"]) == ("unreadable", 2)
    assert "PhoneSang" in caught.value.details["what"]


def row(name: str, capacity: int = 20) -> PcRow:
    return PcRow(name, capacity, AT, AT)


def test_only_the_last_state_of_a_row_is_written() -> None:
    tables = BatchTables(FLEET_PROJECTION)
    tables.put(PCS, row("a", 1))
    tables.put(PCS, row("a", 2))
    tables.put(PCS, row("b"))
    tables.delete(PCS, "b")
    changes = tables.take()
    assert changes.upserts["pc_rows"] == [("a", 2, AT, AT, None)]
    assert changes.deletes["pc_rows"] == ["b"]
    assert tables.take().upserts["pc_rows"] == []


def test_a_row_that_nobody_declared_is_an_error_and_not_an_absent_row() -> None:
    tables = BatchTables(FLEET_PROJECTION)
    with pytest.raises(UndeclaredRow):
        tables.get(DEVICES, UUID(int=1))
    tables.loaded(PCS, ["a", "b"], [row("a")])
    assert tables.get(PCS, "a") == row("a")
    assert tables.get(PCS, "b") is None


def test_the_cache_forgets_its_oldest_rows_but_none_that_may_not_be_written_yet() -> None:
    tables = BatchTables(FLEET_PROJECTION, cached_rows_max=2)
    tables.loaded(PCS, ["old", "older"], [row("older"), row("old")])
    for batch in (["a", "b"], ["c", "d"], ["e"]):
        for name in batch:
            tables.put(PCS, row(name))
        tables.take()
        assert tables.unknown(PCS, set(batch)) == []
    assert set(tables.unknown(PCS, {"old", "older", "a", "b"})) == {"old", "older", "a", "b"}
    assert tables.unknown(PCS, {"c", "d", "e"}) == []
