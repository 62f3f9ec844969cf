"""Which commits a process knows of, and for how long."""

from __future__ import annotations

import pytest

from drover.eventlog.log import Partition
from drover.projection.newest import KNOWN_LONG_S, MARK_EVERY_S, Newest


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def newest(clock) -> Newest:
    return Newest([Partition("fleet"), Partition("reminder", "p0"), Partition("reminder", "p1")], clock=clock)


def test_the_highest_position_of_each_place_counts(newest):
    for place, seq in (("fleet", 4), ("fleet", 9), ("fleet", 7), ("reminder.p1", 3), ("reminder", 2)):
        newest.observe(place, seq)
    assert newest.of("fleet") == {"fleet": 9}
    assert newest.of("reminder") == {"reminder": 2, "reminder.p1": 3}


def test_unknown_partitions_are_ignored(newest):
    for place in ("reminder.p9", "fleet.p0", "nothing", "nothing.p1"):
        newest.observe(place, 5)
    assert newest.of("reminder") == newest.of("fleet") == {}


def test_an_unknown_context_is_an_error_of_the_caller(newest):
    with pytest.raises(KeyError):
        newest.of("service_role")


def test_a_position_is_long_known_after_a_second(newest, clock):
    newest.observe("fleet", 4)
    clock.now += KNOWN_LONG_S - 0.001
    assert newest.long_known("fleet") == 0
    clock.now += 0.002
    assert newest.long_known("fleet") == 4


def test_under_steady_commits_the_position_of_a_second_ago_is_known(newest, clock):
    every_s = MARK_EVERY_S / 20
    for seq in range(1, 2_000):
        newest.observe("fleet", seq)
        clock.now += every_s
        if seq * every_s > 2 * KNOWN_LONG_S:
            age_s = (seq - newest.long_known("fleet")) * every_s
            assert KNOWN_LONG_S - every_s <= age_s <= KNOWN_LONG_S + 2 * MARK_EVERY_S


def test_the_last_of_several_quick_commits_becomes_long_known_too(newest, clock):
    newest.observe("fleet", 1)
    clock.now += MARK_EVERY_S / 2
    newest.observe("fleet", 2)
    clock.now += KNOWN_LONG_S
    assert newest.long_known("fleet") == 2


def test_after_a_break_a_log_may_begin_anew(newest, clock):
    newest.observe("fleet", 900)
    clock.now += 2 * KNOWN_LONG_S
    newest.forget("fleet")
    assert (newest.of("fleet"), newest.long_known("fleet")) == ({}, 0)
    newest.observe("fleet", 3)
    assert newest.of("fleet") == {"fleet": 3}
