"""Two alarms of one user never fall on the same minute, as far as fifty tries go."""

from datetime import timedelta

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.domain.reminder.policy import CROWDED_ALERT_LASTS, SHIFT_MAX_MIN, TRIES_MAX
from drover.domain.reminder.state import minute_of
from tests.unit.domain.reminder.world import DAILY, NEW_YORK, USER, World, scheduled_for, utc, wall

NINE = wall(2026, 3, 3, 9, 0)


@pytest.mark.req("RM-09")
def test_a_second_alarm_for_the_same_minute_is_moved_by_at_most_59_minutes():
    world = World().registered("a").registered("b").scheduled(NINE, "a").scheduled(NINE.replace(second=40), "b")
    assert world.local("a").strftime("%H:%M") == "09:00"
    moved = world.local("b").replace(tzinfo=None) - NINE.replace(second=40)
    assert timedelta(minutes=1) <= moved <= timedelta(minutes=SHIFT_MAX_MIN)
    assert scheduled_for(world).shift_min == moved // timedelta(minutes=1)


@pytest.mark.req("RM-09")
def test_the_shift_is_no_dice_but_differs_from_page_to_page():
    def shift(page):
        world = World().registered("first").registered(page).scheduled(NINE, "first").scheduled(NINE, page)
        return world.alarm(page).shift_min

    pages = [f"page-{number}" for number in range(20)]
    shifts = [shift(page) for page in pages]
    assert shifts == [shift(page) for page in pages]
    assert len(set(shifts)) > 10


@pytest.mark.req("RM-09")
def test_other_users_do_not_matter():
    world = World().registered("a", "user_a").registered("b", "user_b")
    world.scheduled(NINE, "a", "user_a").scheduled(NINE, "b", "user_b")
    assert world.next_time("a") == world.next_time("b")


@pytest.mark.req("RM-09")
def test_immediate_sendings_are_exempt_and_stand_in_nobodys_way():
    world = World(utc(2026, 3, 2, 12)).registered("a").registered("b")
    assert world.next_time("a") == world.next_time("b")
    world.registered("c").scheduled(utc(2026, 3, 2, 12, 0, 59), "c")
    assert world.alarm("c").shift_min == 0


@pytest.mark.req("RM-09")
def test_an_alarm_is_not_in_its_own_way():
    world = World().registered("a").scheduled(NINE, "a").scheduled(NINE, "a")
    assert world.alarm("a").shift_min == 0
    assert len(world.state.users[USER].minutes) == 1


@pytest.mark.req("RM-09")
def test_alarms_that_meet_after_their_sending_are_moved_apart():
    world = World(utc(2026, 3, 2, 12), DAILY).registered("a").registered("b")
    world.scheduled(NINE, "a").scheduled(NINE + timedelta(days=1), "b")
    world.when_due("a").claimed().sent("a")
    assert world.local("a").date() == world.local("b").date()
    assert minute_of(world.alarm("a").next_s) != minute_of(world.alarm("b").next_s)


@pytest.mark.req("RM-04", "RM-09")
def test_shifts_do_not_add_up():
    world = World(utc(2026, 3, 2, 12), DAILY).registered("a").registered("b")
    world.scheduled(NINE, "a").scheduled(NINE, "b")
    for _ in range(30):
        for page in sorted(("a", "b"), key=world.wakes):
            world.when_due(page).claimed(limit=1).sent(page)
    assert world.local("a").hour == world.local("b").hour == 9


@pytest.mark.req("RM-09")
def test_a_shift_into_a_missing_hour_is_on_the_users_clock_and_gone_the_next_day():
    """On 2026-03-08 New York's clocks jump from 01:59 to 03:00."""
    world = World(utc(2026, 3, 7, 12), DAILY).living_in(NEW_YORK).registered("a").registered("b")
    late = wall(2026, 3, 8, 1, 59)
    world.scheduled(late, "a").scheduled(late, "b")
    assert world.local("b").hour == 3
    world.when_due("b").claimed().sent("b")
    wanted = world.local("b").replace(tzinfo=None) - timedelta(minutes=world.alarm("b").shift_min)
    assert wanted == late + timedelta(days=1)


@pytest.mark.req("RM-09")
def test_after_fifty_tries_it_is_accepted_and_said_so():
    world = World(utc(2026, 3, 2, 12)).registered("first").scheduled(NINE, "first")
    for number in range(SHIFT_MAX_MIN):
        world.registered(f"page-{number}").scheduled(NINE + timedelta(minutes=number + 1), f"page-{number}")
    world.registered("last").when(c.Schedule("last", USER, NINE)).then(e.AlarmScheduled, e.MinuteCrowded, AlertRaised)
    (crowded,) = world.events_of(e.MinuteCrowded)
    assert crowded.tries == TRIES_MAX
    assert world.next_time("last") == world.next_time("first"), "where it was wanted"
    world.then_answers(crowded=True)
    world.registered("more").when(c.Schedule("more", USER, NINE)).then(e.AlarmScheduled, e.MinuteCrowded)
    world.when(c.DeletePages(("last",))).then(e.AlarmDeleted)
    assert world.state.users[USER].alarms_in(minute_of(world.alarm("first").next_s)) == 2
    world.now += CROWDED_ALERT_LASTS
    world.ticked().then(AlertResolved)


@pytest.mark.req("RM-09")
def test_a_minute_is_free_again_when_its_alarm_is_gone_or_elsewhere():
    world = World().registered("a").registered("b").registered("c").scheduled(NINE, "a")
    world.when(c.DeletePages(("a",)))
    world.scheduled(NINE, "b")
    assert world.alarm("b").shift_min == 0
    world.registered("b")
    assert not world.state.users[USER].minutes
    world.scheduled(NINE, "c")
    assert world.alarm("c").shift_min == 0
