"""Setting when an alarm is sent next, on the user's clock."""

from datetime import timedelta

import pytest

from drover.domain.errors import Code
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.domain.reminder.policy import AHEAD_MAX
from tests.unit.domain.reminder.world import NEW_YORK, PAGE, SEOUL, USER, World, utc, wall


@pytest.mark.req("RM-03")
def test_a_time_without_an_offset_is_the_users():
    world = World(utc(2026, 3, 2, 12)).registered()
    world.when(c.Schedule(PAGE, USER, wall(2026, 3, 3, 9, 0))).then(
        e.AlarmScheduled(PAGE, USER, utc(2026, 3, 3, 0, 0), 0, SEOUL, 1)
    )
    world.then_answers(next_alarm_time=utc(2026, 3, 3), timezone=SEOUL, shift_min=0, crowded=False)
    world.living_in(NEW_YORK).when(c.Schedule(PAGE, USER, wall(2026, 3, 3, 9, 0)))
    assert world.next_time() == utc(2026, 3, 3, 14, 0)


@pytest.mark.req("RM-03")
def test_a_time_with_an_offset_is_that_moment_and_fractions_of_a_second_are_left_away():
    world = World(utc(2026, 3, 2, 12)).registered()
    world.when(c.Schedule(PAGE, USER, utc(2026, 3, 4, 5, 6, 7, 999)))
    assert world.next_time() == utc(2026, 3, 4, 5, 6, 7)


@pytest.mark.req("RM-03")
def test_it_is_not_due_before_that_and_due_then():
    world = World(utc(2026, 3, 2, 12)).registered().scheduled(utc(2026, 3, 2, 13))
    world.at(utc(2026, 3, 2, 12, 59, 59)).claimed().then_nothing()
    world.at(utc(2026, 3, 2, 13)).claimed().then(e.AlarmDispatched)


@pytest.mark.req("RM-03", "RM-14")
@pytest.mark.parametrize("past", [wall(2026, 3, 2, 21, 0), utc(2026, 3, 2, 11, 59, 59), utc(1999, 1, 1)])
def test_a_past_time_is_refused_and_the_refusal_is_on_record(past):
    world = World(utc(2026, 3, 2, 12)).registered().scheduled(utc(2026, 3, 5))
    world.when(c.Schedule(PAGE, USER, past)).then_rejected(
        Code.PAST_SCHEDULE, e.ScheduleSkipped(PAGE, USER, past.isoformat(), SEOUL), page_id=PAGE, asked=past.isoformat()
    )
    assert world.next_time() == utc(2026, 3, 5), "it stays as it was"


@pytest.mark.req("RM-03")
def test_what_became_overdue_while_nobody_was_there_is_sent():
    world = World(utc(2026, 3, 2, 12)).registered().scheduled(utc(2026, 3, 3))
    world.at(utc(2026, 3, 20)).claimed().then(e.AlarmDispatched)


def test_an_alarm_that_is_not_there_or_not_theirs_cannot_be_set():
    world = World(utc(2026, 3, 2, 12)).registered()
    tomorrow = utc(2026, 3, 3)
    world.when(c.Schedule("other", USER, tomorrow)).then_rejected(Code.NOT_FOUND)
    world.when(c.Schedule(PAGE, "user_2", tomorrow)).then_rejected(Code.NOT_FOUND)


def test_nobody_plans_for_more_than_ten_years():
    world = World(utc(2026, 3, 2, 12)).registered()
    world.when(c.Schedule(PAGE, USER, world.now + AHEAD_MAX + timedelta(minutes=1))).then_rejected(
        Code.VALIDATION_ERROR, field="next_alarm_time"
    )


@pytest.mark.parametrize("time", [wall(1, 1, 1), wall(9999, 12, 31, 23, 59), utc(1, 1, 1), utc(9999, 12, 31)])
def test_times_that_cannot_be_computed_with_are_refused_not_raised(time):
    World().registered().when(c.Schedule(PAGE, USER, time)).then_rejected(
        Code.VALIDATION_ERROR, field="next_alarm_time"
    )


@pytest.mark.req("RM-03")
def test_an_alarm_that_waits_for_its_retry_can_be_set_anew():
    world = World(utc(2026, 3, 2, 12)).registered().claimed().failed()
    world.scheduled(utc(2026, 3, 4))
    assert world.wakes() == utc(2026, 3, 4)


@pytest.mark.req("RM-03")
def test_what_was_set_while_a_sending_was_in_hand_holds_after_it():
    world = World(utc(2026, 3, 2, 12)).registered().claimed().scheduled(utc(2026, 3, 7, 1))
    assert world.wakes() == utc(2026, 3, 2, 18), "the sending itself is still to be settled"
    world.sent()
    assert world.events_of(e.AlarmSent)[0].next_alarm_time == utc(2026, 3, 7, 1)
    assert world.next_time() == world.wakes() == utc(2026, 3, 7, 1)
    assert world.alarm().sent_count == 2


@pytest.mark.req("RM-02")
def test_a_page_that_is_registered_while_its_sending_is_in_hand_is_sent_once_more():
    world = World(utc(2026, 3, 2, 12)).registered().claimed().after(seconds=5)
    world.registered().claimed().then_nothing()
    world.sent()
    assert not world.state.users[USER].minutes, "asked for at once, it holds no minute"
    world.claimed()
    (claim,) = world.events_of(e.AlarmDispatched)
    assert claim.sending == 2


def test_a_sending_that_failed_after_the_alarm_was_set_anew_is_not_tried_before_that():
    world = World(utc(2026, 3, 2, 12)).registered().claimed().scheduled(utc(2026, 3, 7)).failed()
    assert world.wakes() == utc(2026, 3, 7)


def test_a_move_to_another_zone_leaves_the_moment_and_takes_the_hour_along_afterwards():
    world = World(utc(2026, 3, 2, 12)).registered().scheduled(wall(2026, 3, 3, 9, 0))
    world.living_in("Europe/Berlin")
    assert world.next_time() == utc(2026, 3, 3, 0, 0)
    world.when_due().claimed().sent()
    assert world.local().strftime("%d %H:%M") == "04 01:00"
