"""Partitions spread over the processes that could lead them, and move when one comes or goes."""

import asyncio
from collections import Counter

import pytest

from drover.domain.partitions import partition_names
from drover.testing.lease import LocalLease
from drover.testing.waiting import eventually
from drover.writer import shared_lease
from drover.writer.peers import HEARD_FOR_S, PEERS_MAX, Peer, Peers
from drover.writer.shared_lease import SharedLease

NAMES = partition_names(4)


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def peers_of(instance, clock):
    made = Peers("reminder", instance, NAMES, clock)
    for name in NAMES:
        made.enlist(name)
    return made


def test_alone_everything_is_ones_own(clock):
    assert {peers_of("a", clock).owner(name) for name in NAMES} == {"a"}


@pytest.mark.parametrize("count", [2, 3, 4])
def test_all_say_the_same_and_nobody_has_more_than_their_share(clock, count):
    processes = [peers_of(f"process-{number}", clock) for number in range(count)]
    for one in processes:
        for other in processes:
            one.hear(Peer(other.instance, NAMES))
    said = [tuple(one.owner(name) for name in NAMES) for one in processes]
    assert len(set(said)) == 1
    assert max(Counter(said[0]).values()) == -(-len(NAMES) // count)


def test_who_is_not_ready_is_given_nothing(clock):
    peers = peers_of("b", clock)
    peers.hear(Peer("a", ("p1",)))
    assert [peers.owner(name) for name in NAMES] == ["b", "b", "b", "b"], "p1 is the second's turn, which is b"
    peers.hear(Peer("a", ("p0", "p1")))
    assert peers.owner("p0") == "a"


def test_who_is_not_heard_any_more_is_gone_and_who_says_so_at_once(clock):
    peers = peers_of("b", clock)
    peers.hear(Peer("a", NAMES))
    clock.now += HEARD_FOR_S
    assert peers.owner("p0") == "a"
    clock.now += 0.1
    assert peers.owner("p0") == "b"
    peers.hear(Peer("a", NAMES))
    peers.hear(Peer("a", ()))
    assert peers.owner("p0") == "b"


def test_only_so_many_are_listened_to(clock):
    peers = peers_of("z", clock)
    for number in range(PEERS_MAX + 10):
        peers.hear(Peer(f"{number:05}", NAMES))
    assert len(peers._heard) == PEERS_MAX


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(shared_lease, "LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(shared_lease, "STEADY_S", 0.01)


async def test_a_lease_that_should_be_anothers_is_given_away_and_left_to_them(clock, quick):
    peers = peers_of("b", clock)
    inner = LocalLease()
    lease = SharedLease(inner, "p0", peers)
    await lease.acquire()
    assert lease.is_valid()
    async with lease.renewing() as lost:
        peers.hear(Peer("a", NAMES))
        await asyncio.wait_for(lost.wait(), 5)
    await lease.release()
    again = asyncio.create_task(lease.acquire())
    await eventually(lambda: lease._gave_way)
    assert not again.done(), "the other one has time to take it"
    clock.now += HEARD_FOR_S + 1
    await asyncio.wait_for(again, 5)
    assert lease.is_valid()


async def test_nobody_waits_for_ever_for_one_that_does_not_take_it(clock, quick, monkeypatch):
    monkeypatch.setattr(shared_lease, "GIVE_WAY_S", 0.01)
    peers = peers_of("b", clock)
    lease = SharedLease(LocalLease(), "p0", peers)
    lease._gave_way = True
    peers.hear(Peer("a", NAMES))
    await asyncio.wait_for(lease.acquire(), 5)


async def test_a_lease_that_is_ones_own_is_kept_and_a_lost_one_is_lost(clock, quick):
    peers = peers_of("a", clock)
    inner = LocalLease()
    lease = SharedLease(inner, "p0", peers)
    await lease.acquire()
    async with lease.renewing() as lost:
        peers.hear(Peer("b", NAMES))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not lost.is_set()
        inner.lose()
        assert lost.is_set()
    await lease.release()


@pytest.mark.req("YR-07")
async def test_a_process_that_must_load_its_state_again_is_not_handed_a_partition(clock):
    peers = Peers("reminder", "b", NAMES, clock)
    lease = SharedLease(LocalLease(), "p0", peers)
    for _ in range(2):
        await lease.acquire()
        assert peers.ready == {"p0"}
        await lease.release()  # after a term; its state may be void
        assert peers.ready == set(), "it is announced again when its state is loaded and it asks for the lease"


@pytest.mark.parametrize("turns", range(5))
async def test_a_stop_that_comes_together_with_a_change_is_not_lost(turns):
    """In Python 3.11 `asyncio.wait_for` swallows a cancellation if its result is there in the same turn of the loop."""
    peers = Peers("bank", "a", ["p0"])
    announced = asyncio.Event()

    class Client:
        async def publish(self, subject, body):
            announced.set()

    announcing = asyncio.create_task(peers._keep_announcing(Client()))
    peers.enlist("p0")
    await announced.wait()
    await asyncio.sleep(0)  # it waits for the next change
    peers.withdraw("p0")
    for _ in range(turns):
        await asyncio.sleep(0)
    announcing.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert announcing.cancelled()
