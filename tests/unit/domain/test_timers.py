"""Timers: one moment for each key, the earliest on top, and no memory of those that were changed."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from drover.domain.timers import STALE_MIN, Timers

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def at(seconds):
    return NOON + timedelta(seconds=seconds)


def test_the_earliest_is_first():
    timers = Timers()
    timers.set("b", at(2))
    timers.set("a", at(1))
    assert timers.first() == (at(1), "a")


def test_a_key_that_is_set_again_is_due_at_its_new_time_only():
    timers = Timers()
    timers.set("a", at(1))
    timers.set("b", at(2))
    timers.set("a", at(3))
    assert timers.first() == (at(2), "b")
    timers.clear("b")
    assert timers.first() == (at(3), "a")


def test_the_first_timer_is_overdue_from_its_moment_on():
    timers = Timers()
    assert timers.first_at() is None
    assert timers.overdue(at(1)) is None
    timers.set("l:kind:subject", at(2))
    assert timers.first_at() == at(2)
    assert timers.overdue(at(1)) is None
    assert timers.overdue(at(2)) == ("l", "kind:subject")


def test_a_cleared_key_is_due_no_more():
    timers = Timers()
    timers.set("a", at(1))
    timers.clear("a")
    timers.clear("a")
    assert timers.first() is None


def test_outdated_entries_do_not_pile_up():
    timers = Timers()
    timers.set("first", at(0))
    for number in range(10_000):
        timers.set("a", at(20_000 - number))
    assert len(timers.heap) <= 2 * len(timers.due) + STALE_MIN


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.integers(0, 9))))
def test_whatever_is_set_and_cleared_the_top_is_the_least(steps):
    timers, plain = Timers(), {}
    for key, seconds in steps:
        if seconds is None:
            timers.clear(key)
            plain.pop(key, None)
        else:
            timers.set(key, at(seconds))
            plain[key] = at(seconds)
        assert timers.first() == (min((when, key) for key, when in plain.items()) if plain else None)


def test_timers_are_brought_forward_except_those_of_one_kind():
    timers = Timers()
    timers.set("a:1", at(10))
    timers.set("b:1", at(9))
    timers.bring_forward(at(5) - at(0), except_kinds=("b",))
    assert timers.first() == (at(5), "a:1")
    timers.clear("a:1")
    assert timers.first() == (at(9), "b:1")
