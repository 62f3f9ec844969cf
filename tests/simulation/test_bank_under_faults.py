"""Two writers, fail-over, lost acknowledgements, a server that restarts: what was acknowledged is in the log once."""

from functools import cache

import pytest

from tests.integration.writer.writer_process import take_away
from tests.simulation.bank_under_faults import broken_promises, play

SEEDS = range(4)
FAULTS = 15
CONTROL_SEEDS = 10

played = cache(play)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_acknowledged_is_lost_or_doubled_whatever_breaks(seed):
    world, commits = played(seed, FAULTS)
    assert broken_promises(world, commits) == {}
    assert len(world.acknowledged) > 100


def test_every_fault_happens_and_leaders_change():
    worlds = [played(seed, FAULTS) for seed in SEEDS]
    happened = {fault for world, _ in worlds for fault in world.faults}
    assert happened == {"lost ack", "lost commit", "partition", "slow", "kill", "restart"}
    assert sum(commits[-1][0] for _, commits in worlds) > 2 * len(SEEDS), "epochs"


def test_a_seed_gives_the_same_history_each_time():
    def shown(commits):
        return [(epoch, [(event.at, getattr(event, "token", "")) for event in events]) for epoch, events in commits]

    assert shown(play(SEEDS[1], FAULTS)[1]) == shown(played(SEEDS[1], FAULTS)[1])


@pytest.mark.control
@pytest.mark.parametrize(
    ("protection", "first", "promise"),
    [("fence", 29, "written by a leader of the past"), ("idempotency", 0, "in the log more than once")],
)
def test_control_without_a_protection_a_promise_is_broken(monkeypatch, protection, first, promise):
    """Which history shows it changes with every change of the writer; `first` is one that does today."""
    take_away(protection, monkeypatch.setattr)
    assert any(promise in broken_promises(*play(seed, FAULTS)) for seed in range(first, first + CONTROL_SEEDS))
