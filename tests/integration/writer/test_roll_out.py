"""A roll-out on a real server, with a process for each release: the old leader stops when the new one is ready."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest

from drover.bus.messages import Accepted
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import JetStreamSnapshots
from drover.writer.fold import Fold
from drover.writer.snapshots import Snapshotter
from tests.integration.writer.bank import Count, bank, next_bank
from tests.integration.writer.test_faults import leading, ready, scene_on

pytestmark = pytest.mark.timeout(120)

TTL_S = 20
"""Longer than the test: a lease that lapses cannot be the reason why the successor leads."""
HAND_OVER_S = 1.0
STOP_S = 9.0


async def save_snapshot(scene) -> int:
    """Save the state of the release that leads, as its writer does every 50,000 events. Return its position."""
    decider, partition = bank(scene.context), Partition(scene.context)
    fold = Fold(decider)
    for commit in await scene.commits():
        fold.apply(commit)
    snapshotter = Snapshotter(decider, partition, JetStreamSnapshots(scene.client))
    snapshotter.take(fold)
    await snapshotter.settle()
    return fold.seq


@pytest.mark.alone
@pytest.mark.req("YR-06", "YR-07")
async def test_an_upgrade_under_load_loses_nothing_and_refuses_commands_for_a_hand_over_only(nats):
    async with scene_on(nats) as scene:
        old = await scene.start_writer(ttl_s=TTL_S)
        await leading(old)
        scene.start_callers()
        await scene.progress(200)
        saved_at = await save_snapshot(scene)
        new = await scene.start_writer(ttl_s=TTL_S, is_next=True)
        await ready(new)
        await scene.progress(100)
        assert set(await scene.epochs()) == {1}, "the old one led until it was told to stop"
        watching = asyncio.create_task(longest_wait_s(scene))
        old.terminate()
        await leading(new)
        await scene.progress(300)
        watching.cancel()
        assert await watching < HAND_OVER_S
        assert await asyncio.wait_for(old.wait(), STOP_S) == 0
        await scene.stop_callers()
        deposits = await scene.deposits()
        assert set(deposits.values()) == {1}
        assert set(scene.acknowledged) <= deposits.keys(), "an acknowledged command was lost"
        counted = await scene.bus.send(scene.context, Count(), by="test")
        assert isinstance(counted, Accepted)
        assert counted.result == len(deposits), "the migrated state differs from the log"
        migrated = await Snapshotter(
            next_bank(scene.context), Partition(scene.context), JetStreamSnapshots(scene.client)
        ).load()
        assert migrated.seq == saved_at, "the new release could begin at the snapshot of the old one"


async def longest_wait_s(scene) -> float:
    """Return the longest time without an acknowledged command, until this task is cancelled."""
    longest, seen, since = 0.0, len(scene.acknowledged), time.perf_counter()
    try:
        for _ in itertools.count():
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - since)
            if len(scene.acknowledged) > seen:
                seen, since = len(scene.acknowledged), time.perf_counter()
    except asyncio.CancelledError:
        return longest
    raise AssertionError


@pytest.mark.req("YR-07")
async def test_a_leader_without_a_successor_stops_all_the_same(nats):
    async with scene_on(nats) as scene:
        only = await scene.start_writer(ttl_s=TTL_S)
        await leading(only)
        only.terminate()
        assert await asyncio.wait_for(only.wait(), STOP_S) == 0
