"""Pauses double up to a cap and keep the hour of the user's day, whatever clocks do."""

from datetime import UTC, datetime, timedelta

import pytest

from drover.domain.reminder import events as e
from drover.domain.reminder.local_time import moment_of, wall_of
from drover.domain.reminder.policy import Policy
from tests.unit.domain.reminder.world import DAILY, NEW_YORK, SEOUL, World, utc, wall


def sent_on_time(world: World) -> None:
    world.when_due().claimed().then(e.AlarmDispatched)
    world.sent()


@pytest.mark.req("RM-04")
def test_the_pause_doubles_with_each_sending_up_to_the_cap():
    world = World(utc(2026, 3, 2, 0)).registered()
    days = []
    for _ in range(11):
        before = world.next_time()
        sent_on_time(world)
        days.append((world.next_time() - before) / timedelta(days=1))
    assert days == [1, 2, 4, 8, 16, 32, 64, 128, 180, 180, 180]


@pytest.mark.req("RM-04")
def test_base_and_cap_can_be_set():
    policy = Policy(base=timedelta(minutes=10), cap=timedelta(minutes=35))
    assert [policy.pause(count) / timedelta(minutes=1) for count in (1, 2, 3, 4, 1000)] == [10, 20, 35, 35, 35]
    world = World(utc(2026, 3, 2, 0), policy).registered()
    sent_on_time(world)
    assert world.next_time() == utc(2026, 3, 2, 0, 10)


@pytest.mark.req("RM-04")
@pytest.mark.parametrize("timezone", [NEW_YORK, SEOUL, "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns"])
def test_nine_in_the_morning_stays_nine_in_the_morning_through_a_whole_year(timezone):
    """New York puts its clocks forward on 2026-03-08 and back on 2026-11-01; Seoul does neither."""
    world = World(utc(2026, 1, 1), DAILY).living_in(timezone).registered()
    world.scheduled(wall(2026, 1, 2, 9, 0))
    seen = []
    while world.local().year == 2026:
        seen.append(world.local())
        sent_on_time(world)
    assert len(seen) == 364
    assert {(time.hour, time.minute, time.second) for time in seen} == {(9, 0, 0)}
    assert len({time.date() for time in seen}) == 364, "every day once"


@pytest.mark.req("RM-04")
def test_over_both_changes_of_new_york_the_moment_moves_and_seouls_does_not():
    for timezone, winter, summer in ((NEW_YORK, 14, 13), (SEOUL, 0, 0)):
        world = World(utc(2026, 3, 6, 20), DAILY).living_in(timezone).registered()
        world.scheduled(wall(2026, 3, 7, 9, 0))
        assert world.next_time() == utc(2026, 3, 7, winter)
        sent_on_time(world)
        assert world.next_time() == utc(2026, 3, 8, summer), "clocks were put forward that night"
        world = World(utc(2026, 10, 30, 20), DAILY).living_in(timezone).registered()
        world.scheduled(wall(2026, 10, 31, 9, 0))
        assert world.next_time() == utc(2026, 10, 31, summer)
        sent_on_time(world)
        assert world.next_time() == utc(2026, 11, 1, winter), "clocks were put back that night"


@pytest.mark.req("RM-04")
def test_a_long_pause_over_a_change_keeps_the_hour():
    world = World(utc(2026, 3, 1, 20)).living_in(NEW_YORK).registered()
    world.scheduled(wall(2026, 3, 2, 9, 0))
    for _ in range(6):
        sent_on_time(world)
    assert world.local().strftime("%Y-%m-%d %H:%M %Z") == "2026-05-04 09:00 EDT"


@pytest.mark.req("RM-04")
def test_an_hour_that_is_missing_is_an_hour_later_that_day_and_itself_again_the_next():
    """On 2026-03-08 New York has no 02:30."""
    world = World(utc(2026, 3, 6, 20), DAILY).living_in(NEW_YORK).registered()
    world.scheduled(wall(2026, 3, 7, 2, 30))
    sent_on_time(world)
    assert world.local().strftime("%Y-%m-%d %H:%M %Z") == "2026-03-08 03:30 EDT"
    assert world.next_time() == utc(2026, 3, 8, 7, 30)
    sent_on_time(world)
    assert world.local().strftime("%Y-%m-%d %H:%M %Z") == "2026-03-09 02:30 EDT"


@pytest.mark.req("RM-04")
def test_of_an_hour_that_is_there_twice_the_first_is_taken():
    """On 2026-11-01 New York has 01:30 twice: 05:30 and 06:30 UTC."""
    world = World(utc(2026, 10, 30, 20), DAILY).living_in(NEW_YORK).registered()
    world.scheduled(wall(2026, 10, 31, 1, 30))
    sent_on_time(world)
    assert world.next_time() == utc(2026, 11, 1, 5, 30)
    sent_on_time(world)
    assert world.local().strftime("%Y-%m-%d %H:%M %Z") == "2026-11-02 01:30 EST"


@pytest.mark.req("RM-03", "RM-04")
def test_a_missing_hour_can_be_asked_for():
    world = World(utc(2026, 3, 6, 20)).living_in(NEW_YORK).registered().scheduled(wall(2026, 3, 8, 2, 30))
    assert world.next_time() == utc(2026, 3, 8, 7, 30)
    assert world.alarm().shift_min == 60


@pytest.mark.req("RM-04")
def test_a_sending_that_is_a_little_late_does_not_move_the_next():
    world = World(utc(2026, 3, 2, 12)).registered().scheduled(wall(2026, 3, 3, 23, 58))
    world.when_due().after(minutes=7).claimed().sent()
    assert world.local().strftime("%Y-%m-%d %H:%M") == "2026-03-04 23:58"


@pytest.mark.req("RM-04")
def test_a_sending_that_is_days_late_counts_from_its_day_and_keeps_the_hour():
    world = World(utc(2026, 3, 2, 12)).registered().scheduled(wall(2026, 3, 3, 9, 0))
    world.when_due().after(days=3, hours=5).claimed().sent()
    assert world.local().strftime("%Y-%m-%d %H:%M") == "2026-03-07 09:00"


@pytest.mark.req("RM-04")
def test_short_pauses_that_have_passed_begin_anew():
    world = World(utc(2026, 3, 2, 12), Policy(base=timedelta(minutes=1))).registered()
    world.after(hours=3).claimed().sent()
    assert world.next_time() == utc(2026, 3, 2, 15, 1)


def test_walls_and_moments_are_each_others_opposite():
    moment = datetime(2026, 7, 1, 3, 4, 5, tzinfo=UTC)
    for timezone in (SEOUL, NEW_YORK, "UTC", "Asia/Kathmandu"):
        assert moment_of(wall_of(moment, timezone), timezone) == moment
