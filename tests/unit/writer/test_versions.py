"""Two versions of a decider side by side over one log: an upgrade with a changed state, changed rules, a roll-back."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager

import msgspec
import pytest

from drover.bus.messages import Accepted
from drover.domain.errors import Code
from drover.testing.lease import LocalLease
from drover.testing.waiting import eventually
from drover.writer.snapshots import snapshot_version
from tests.unit.writer.conftest import TALLY, Add, Added, AlarmRang, AlarmSet, Ask, SlowLog
from tests.unit.writer.conftest import Tally as TallyV1

V1 = TALLY
HAND_OVER_S = 1.0
"""Far above what a hand-over takes, and far below a lapse of the lease."""


class Tally(msgspec.Struct):
    """The next release: the total has another name, and a field is new."""

    sum: int = 0
    alarms: list = []
    stuck: bool = False
    adds: int = -1
    """-1: unknown, because the state comes from a snapshot that did not count."""

    @property
    def total(self) -> int:
        return self.sum


def evolve(state, event):
    match event:
        case Added():
            state.sum += event.amount
        case AlarmSet():
            state.alarms.append(event.due)
        case AlarmRang():
            state.alarms.remove(event.due)
    return state


def from_v1(state):
    state["sum"] = state.pop("total")
    return state


V2 = msgspec.structs.replace(
    V1, initial=Tally, evolve=evolve, state=Tally, image_migrations={snapshot_version(V1): from_v1}
)
NEW_RULES = msgspec.structs.replace(V2, version=2, image_migrations={})


class Load:
    """Sends commands one after the other, to whoever leads, and counts what was acknowledged and refused."""

    def __init__(self, *writers) -> None:
        self.writers = list(writers)
        self.acknowledged = 0
        self.refused: list[str] = []
        self.longest_wait_s = 0.0
        self._acknowledged_at = 0.0

    async def _run(self) -> None:
        while True:
            for writer in self.writers:
                if writer.leading.is_set():
                    outcome = await writer.submit(Add(1), by="t")
                    if isinstance(outcome, Accepted):
                        self._acknowledge()
                    else:
                        self.refused.append(outcome.code)
                    break
            await asyncio.sleep(0)

    def _acknowledge(self) -> None:
        now = time.process_time()  # `_run` never sleeps: all the time that passes is this process' own
        if self.acknowledged:
            self.longest_wait_s = max(self.longest_wait_s, now - self._acknowledged_at)
        self.acknowledged, self._acknowledged_at = self.acknowledged + 1, now

    @asynccontextmanager
    async def running(self):
        task = asyncio.create_task(self._run())
        yield self
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def beside(bench, decider, **more):
    return bench.writer(decider=decider, lease=LocalLease(bench.lock), **more)


@pytest.mark.req("YR-06", "YR-07")
async def test_an_upgrade_with_a_changed_state_begins_at_the_old_snapshot_and_loses_nothing(bench):
    old, new = beside(bench, V1, snapshot_every=50), beside(bench, V2, snapshot_every=50)
    read_from: list[int] = []
    load = Load(old, new)
    async with old.running(), load.running():
        await asyncio.wait_for(old.leading.wait(), 5)
        await eventually(lambda: load.acknowledged > 200 and bench.snapshots.kept)
        read = bench.log.read
        bench.log.read = lambda after: read_from.append(after) or read(after)
        async with new.running():
            await eventually(lambda: new.why_not_ready() is None)
            assert read_from[0] > 0, "it folded from event 1"
            before = load.acknowledged
            await eventually(lambda: load.acknowledged > before + 50)
            await old.stop()
            await asyncio.wait_for(new.leading.wait(), 5)
            before = load.acknowledged
            await eventually(lambda: load.acknowledged > before + 100)
            load.writers.clear()
            await eventually(lambda: not new.intake.waiting)
            total = (await new.submit(Ask(), by="t")).result
    assert load.acknowledged <= total <= load.acknowledged + 1, "at most the last one was not answered"
    assert set(load.refused) <= {Code.NOT_LEADER}
    assert load.longest_wait_s < HAND_OVER_S, "commands are refused only while the lease changes hands"
    versions = {info.version for info in await bench.snapshots.infos(bench.log.partition)}
    assert versions == {snapshot_version(V1), snapshot_version(V2)}, "a roll-back finds its own"


@pytest.mark.req("YR-06")
async def test_a_roll_back_begins_at_the_snapshot_of_its_own_version(bench):
    for decider in (V1, V2):
        async with bench.leading(decider=decider, snapshot_every=10) as writer:
            for _ in range(20):
                await writer.submit(Add(1), by="t")
            await writer._snapshotter.settle()
    rolled_back = bench.writer(decider=V1)
    fold = await rolled_back._snapshotter.load()
    assert isinstance(fold.state, TallyV1)
    assert 0 < fold.seq <= 21
    async with bench.leading(decider=V1) as writer:
        assert (await writer.submit(Ask(), by="t")).result == 40


@pytest.mark.req("YR-06", "YR-07")
async def test_changed_rules_are_folded_anew_beside_the_leader_which_goes_on(bench):
    bench.log = log = SlowLog(bench.log.partition)
    log.reading.set()
    async with bench.leading(decider=V1, snapshot_every=10, lease=LocalLease(bench.lock)) as old:
        for _ in range(30):
            await old.submit(Add(1), by="t")
        log.reading.clear()
        async with beside(bench, NEW_RULES).running() as new:
            await eventually(lambda: "at 0 of" in (new.why_not_ready() or ""))
            assert isinstance(await old.submit(Add(1), by="t"), Accepted)
            assert old.leading.is_set()
            log.reading.set()
            await eventually(lambda: new.why_not_ready() is None)
            await old.stop()
            await asyncio.wait_for(new.leading.wait(), 5)
            assert (await new.submit(Ask(), by="t")).result == 31


@pytest.mark.req("YR-06")
async def test_a_version_that_is_not_listed_is_not_read(bench):
    async with bench.leading(decider=V1, snapshot_every=10) as writer:
        for _ in range(20):
            await writer.submit(Add(1), by="t")
        await writer._snapshotter.settle()
    unlisted = msgspec.structs.replace(V2, image_migrations={})
    assert await bench.writer(decider=unlisted)._snapshotter.load() is None
    async with bench.leading(decider=unlisted) as writer:
        assert (await writer.submit(Ask(), by="t")).result == 20


@pytest.mark.req("YR-06")
async def test_a_migration_that_raises_costs_time_and_nothing_else(bench):
    async with bench.leading(decider=V1, snapshot_every=10) as writer:
        for _ in range(20):
            await writer.submit(Add(1), by="t")
        await writer._snapshotter.settle()
    broken = msgspec.structs.replace(V2, image_migrations={snapshot_version(V1): lambda state: state["missing"]})
    async with bench.leading(decider=broken) as writer:
        assert (await writer.submit(Ask(), by="t")).result == 20
