"""Read your writes: what a read waits for, how long, and what its answer says."""

from __future__ import annotations

import pytest

from drover.eventlog.log import Partition
from drover.projection.newest import KNOWN_LONG_S, Newest
from drover.projection.positions import Positions
from drover.projection.readable import ReadModelRebuilding, Rebuilding
from drover.web import freshness
from drover.web.errors import ApiError
from drover.web.freshness import Freshness

PARTITIONS = (Partition("fleet"), Partition("render"), Partition("reminder", "p0"), Partition("reminder", "p1"))
BEHIND = "Drover-Behind"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Recorded(Positions):
    """Positions that note what is waited for. A wait for what has not come ends at once, as if the time was over."""

    def __init__(self) -> None:
        super().__init__(PARTITIONS)
        self.waits: list[tuple[str, int]] = []

    async def wait(self, place: str, seq: int, timeout_s: float) -> bool:
        if timeout_s > 0:
            self.waits.append((place, seq))
        return await super().wait(place, seq, 0)


@pytest.fixture
def positions() -> Recorded:
    return Recorded()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def newest(clock) -> Newest:
    return Newest(PARTITIONS, clock=clock)


@pytest.fixture
def reads(positions, newest) -> Freshness:
    return Freshness(positions, newest)


async def test_a_read_waits_for_the_newest_commit_of_its_contexts_whoever_wrote_it(reads, newest, positions):
    positions.observe("fleet", "main", 7)
    newest.observe("fleet", 7)
    newest.observe("fleet", 5)
    newest.observe("render", 9)
    awaited = await reads.wait({}, "fleet")
    assert positions.waits == [("fleet", 7)]
    assert (awaited.shows, awaited.headers) == ({"fleet": 7}, {})


async def test_a_write_of_this_process_counts_at_once(reads, positions):
    reads.wrote("fleet", 3)
    assert (await reads.wait({}, "fleet")).headers == {BEHIND: "fleet=3"}
    positions.observe("fleet", "main", 3)
    assert (await reads.wait({}, "fleet")).headers == {}


async def test_an_answer_that_may_be_stale_names_the_positions_that_it_may_lack(reads, newest):
    newest.observe("fleet", 7)
    newest.observe("reminder.p1", 4)
    awaited = await reads.wait({}, "fleet", "reminder")
    assert (awaited.shows, awaited.headers) == ({}, {BEHIND: "fleet=7,reminder.p1=4"})


async def test_a_read_model_that_is_known_to_be_behind_is_not_waited_for(reads, newest, positions, clock):
    newest.observe("fleet", 7)
    clock.now += KNOWN_LONG_S
    assert (await reads.wait({}, "fleet")).headers == {BEHIND: "fleet=7"}
    assert positions.waits == []
    positions.observe("fleet", "main", 7)
    newest.observe("fleet", 8)
    await reads.wait({}, "fleet")
    assert positions.waits == [("fleet", 8)], "it has caught up with all but the newest"


async def test_in_a_divided_context_each_partition_is_waited_for(reads, newest, positions):
    newest.observe("reminder.p0", 7)
    newest.observe("reminder.p1", 5)
    positions.observe("reminder", "p0", 7)
    positions.observe("reminder", "p1", 5)
    assert (await reads.wait({}, "reminder")).shows == {"reminder.p0": 7, "reminder.p1": 5}
    assert positions.waits == [("reminder.p0", 7), ("reminder.p1", 5)]


async def test_a_process_that_cannot_know_the_newest_commits_says_so_and_does_not_wait(positions, clock):
    async def out_of_sync(contexts):
        return False

    newest = Newest(PARTITIONS, out_of_sync, clock)
    assert (await Freshness(positions, newest).wait({}, "fleet")).headers == {BEHIND: "fleet=0"}
    newest.observe("fleet", 7)
    assert (await Freshness(positions, newest).wait({}, "fleet")).headers == {BEHIND: "fleet=7"}
    assert positions.waits == []


async def test_a_named_position_is_waited_for_in_its_partition_and_in_its_context_only(reads, positions):
    positions.observe("reminder", "p0", 4)
    header = {"Drover-Min-Position": "reminder.p0=4,fleet=8"}
    await reads.wait(header, "reminder")
    assert positions.waits == [("reminder.p0", 4)]
    await reads.wait(header, "render")
    assert len(positions.waits) == 1


async def test_a_named_position_that_does_not_come_is_an_error_and_the_newest_one_is_not(reads, newest, positions):
    newest.observe("fleet", 9)
    positions.observe("fleet", "main", 4)
    with pytest.raises(ApiError) as behind:
        await reads.wait({"Drover-Min-Position": "fleet=5"}, "fleet")
    assert (behind.value.status, behind.value.code) == (503, "READ_MODEL_BEHIND")
    assert (await reads.wait({"Drover-Min-Position": "fleet=4"}, "fleet")).headers == {BEHIND: "fleet=9"}


async def test_a_poll_waits_only_for_the_position_that_it_names(reads, newest, positions):
    newest.observe("fleet", 9)
    positions.observe("fleet", "main", 4)
    await reads.wait_named({}, "fleet")
    assert positions.waits == []
    await reads.wait_named({"Drover-Min-Position": "fleet=4"}, "fleet")
    assert positions.waits == [("fleet", 4)]


async def test_a_read_waits_until_the_commit_comes_and_no_longer_than_a_second(newest, monkeypatch):
    monkeypatch.setattr(freshness, "SOFT_WAIT_S", 0.02)
    reads = Freshness(Positions(PARTITIONS), newest)
    newest.observe("fleet", 9)
    assert (await reads.wait({}, "fleet")).headers == {BEHIND: "fleet=9"}


class Building:
    """The read model of fleet is being built."""

    async def demand(self, contexts) -> None:
        if "fleet" in contexts:
            raise ReadModelRebuilding(Rebuilding("fleet", position=250, end=1000))


@pytest.mark.req("YR-08")
async def test_a_read_model_that_is_being_built_is_not_read_and_the_others_are(positions, newest):
    reads = Freshness(positions, newest, Building())
    with pytest.raises(ApiError) as caught:
        await reads.wait({}, "fleet")
    assert (caught.value.status, caught.value.code) == (503, "READ_MODEL_REBUILDING")
    assert caught.value.details == {"context": "fleet", "position": 250, "end": 1000}
    assert caught.value.headers["Retry-After"] == "2"
    await reads.wait({}, "render")
    await reads.of(positions).wait({}, "fleet")  # the roster is another read model
