"""The lease on a real server: exclusion, hand-over, lapse, and races at its end."""

import asyncio

import pytest
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.eventlog.bucket import ensure_bucket
from drover.eventlog.log import Partition
from drover.testing.clock import VirtualClock
from drover.testing.waiting import eventually
from drover.writer.clock import SystemClock
from drover.writer.nats_lease import BUCKET, ClockSkewed, LeaseTimes, NatsLease, read_holder

TIMES = LeaseTimes(ttl_s=1, renew_every_s=0.25, safety_s=0.25, poll_every_s=0.1)
"""Of a lease that is to lapse."""
LONG = LeaseTimes(ttl_s=60, renew_every_s=0.25, safety_s=2, poll_every_s=0.1)
"""Of a lease that is to last, also while the machine stands still for seconds."""


@pytest.fixture
async def client(nats):
    async with connected(nats.url, "test") as connection:
        await ensure_bucket(connection, BUCKET)
        yield connection


@pytest.fixture
def partition():
    return Partition(f"t{uuid4().hex[:10]}")


@pytest.fixture
def make(client, partition):
    def lease(name, clock=None, times=TIMES):
        return NatsLease(client, partition, instance=name, token=name, clock=clock or SystemClock(), times=times)

    return lease


async def test_one_holds_it_and_is_named(make, client, partition):
    times = LeaseTimes(ttl_s=4, renew_every_s=0.25, safety_s=0.25, poll_every_s=0.1)
    one, two = make("one", times=times), make("two")
    await one.acquire()
    async with one.renewing():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(two.acquire(), times.ttl_s + 0.5)
        assert one.is_valid() and not two.is_valid()
        assert (await read_holder(client, partition)).instance == "one"


async def test_a_hand_over_is_seen_at_once(make, client):
    patient = LeaseTimes(ttl_s=60, renew_every_s=20, safety_s=2, poll_every_s=60)
    one, two = make("one", times=patient), make("two", times=patient)
    await one.acquire()
    subscriptions = len(client._subs)
    waiting = asyncio.create_task(two.acquire())
    await eventually(lambda: len(client._subs) > subscriptions)  # it watches
    await one.release()
    await asyncio.wait_for(waiting, patient.poll_every_s / 2)
    assert not one.is_valid()


async def test_a_lease_that_is_not_renewed_lapses(make):
    one, two = make("one"), make("two", times=LONG)
    await one.acquire()
    await two.acquire()
    assert two.is_valid() and not one.is_valid()


async def test_a_holder_that_was_overtaken_learns_of_it(make):
    one, two = make("one"), make("two", times=LONG)
    await one.acquire()
    await eventually(lambda: not one.is_valid())
    await two.acquire()
    async with one.renewing() as lost:
        await lost.wait()


async def test_releasing_what_is_not_ours_any_more_leaves_it_alone(make, client, partition):
    one, two = make("one"), make("two", times=LONG)
    await one.acquire()
    await two.acquire()
    await one.release()
    assert (await read_holder(client, partition)).instance == "two"


async def test_a_renewal_that_landed_unseen_does_not_spoil_the_hand_over(make, client, partition):
    one = make("one")
    await one.acquire()
    known = one._revision
    assert await one._put(known)
    one._revision = known  # as if the acknowledgement had been lost
    await one.release()
    assert await read_holder(client, partition) is None


async def test_a_renewal_that_landed_unseen_does_not_lose_the_lease(make):
    one = make("one", times=LONG)
    await one.acquire()
    known = one._revision
    assert await one._put(known)
    one._revision = known
    async with one.renewing() as lost:
        await eventually(lambda: one._revision > known + 2)
        assert not lost.is_set()


async def test_a_wrong_clock_is_refused_and_the_key_given_back(make, client, partition):
    with pytest.raises(ClockSkewed):
        await make("one", clock=VirtualClock()).acquire()
    assert await read_holder(client, partition) is None
