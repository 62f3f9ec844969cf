"""Alarms follow the wall clock; retries, claims and requests for now follow the time that passes."""

from datetime import timedelta

import pytest

from drover.domain.event import TermStarted
from drover.domain.reminder import events as e
from drover.domain.reminder.image import from_image, to_image

from .world import PAGE, World

pytestmark = pytest.mark.req("YR-13")

DAY = timedelta(days=1)
DAY_S = DAY.total_seconds()


def set_back(world: World, by: timedelta = DAY) -> World:
    """A new term after the clock was set back: the partition's time stays ahead by as much."""
    return world.given(TermStarted(2, "w", ahead_s=by.total_seconds()))


def waiting(world: World, **ahead: float) -> World:
    """An alarm that has been sent once and is due again in this time."""
    world.registered().claimed().sent()
    return world.scheduled(world.now + timedelta(**ahead))


def test_an_alarm_is_not_claimed_a_day_early():
    world = waiting(World(), days=3)
    set_back(world.after(days=2))  # for one term the clock was a day ahead; it is a day after the beginning
    world.claimed().then_nothing()
    world.after(days=1, hours=23, minutes=59).claimed().then_nothing()
    world.after(minutes=1).claimed().then(e.AlarmDispatched)


def test_control_without_the_note_of_the_term_the_alarm_is_claimed_a_day_early():
    world = waiting(World(), days=3)
    world.after(days=2).given(TermStarted(2, "w"))
    world.after(days=1).claimed().then(e.AlarmDispatched)


def test_a_time_is_past_or_future_by_the_wall_clock():
    world = set_back(World().registered().after(days=1))
    world.scheduled(world.now - timedelta(hours=23))  # in an hour, by the wall clock
    assert world.next_time() == world.now - timedelta(hours=23)


def test_a_retry_that_was_set_while_the_clock_was_ahead_comes_in_its_time():
    world = World().registered().claimed().failed()
    set_back(world)
    world.claimed().then_nothing()
    world.after(seconds=31).claimed().then(e.AlarmDispatched)


def test_a_claim_that_was_made_while_the_clock_was_ahead_ends_in_its_time():
    world = World().registered().claimed()
    set_back(world)
    world.after(hours=5, minutes=59).claimed().then_nothing()
    world.after(minutes=1).claimed().then(e.AlarmDispatched)


def test_an_alarm_that_was_requested_for_now_is_due_at_once():
    set_back(World().registered()).claimed().then(e.AlarmDispatched)


def test_a_time_that_a_user_chose_stays():
    world = waiting(World(), days=3)
    chosen = world.next_time()
    set_back(world)
    assert world.next_time() == world.wakes() == chosen


def test_a_user_who_moved_the_alarm_while_it_was_sent_gets_it_at_the_time_they_chose():
    world = World().registered().claimed()
    world.scheduled(world.now + timedelta(hours=2)).failed()
    set_back(world)
    assert world.wakes() == world.next_time()


def test_a_snapshot_keeps_how_far_the_time_is_ahead():
    world = set_back(World().registered())
    world.state = from_image(to_image(world.state))
    assert world.state.ahead_s == DAY_S
    assert PAGE in world.state.alarms


def test_when_the_wall_clock_has_caught_up_nothing_moves():
    world = set_back(World().registered().claimed().failed())
    wakes = world.wakes()
    world.given(TermStarted(3, "w"))
    assert (world.state.ahead_s, world.wakes()) == (0.0, wakes)
