"""Rows of `user_info`: the time zones of users."""

import pytest

from drover.domain.errors import Code
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from tests.unit.domain.reminder.world import NEW_YORK, PAGE, SEOUL, USER, World


@pytest.mark.req("DI-04", "RM-01")
@pytest.mark.parametrize(("written", "zone"), [(NEW_YORK, NEW_YORK), (None, SEOUL)])
def test_a_new_row_has_the_zone_that_was_written_or_seoul(written, zone):
    world = World()
    world.when(c.AddUser(USER, written)).then(e.UserAdded(USER, zone))
    world.then_answers(user_id=USER, timezone=zone)


@pytest.mark.req("DI-04", "DI-18")
def test_a_second_row_of_a_user_is_refused():
    world = World().living_in(NEW_YORK)
    world.when(c.AddUser(USER, SEOUL)).then_rejected(Code.UNIQUE_VIOLATION, user_id=USER, timezone=NEW_YORK)


@pytest.mark.req("DI-04")
def test_a_change_of_an_existing_row_adds_none():
    World().when(c.SetTimezone(USER, SEOUL, existing=True)).then_rejected(Code.NOT_FOUND)


@pytest.mark.req("DI-04")
def test_a_row_changes_only_if_it_has_the_zone_that_the_filters_found():
    world = World().living_in(NEW_YORK)
    for command in (c.SetTimezone(USER, "UTC", only_if=SEOUL), c.RemoveUser(USER, only_if=SEOUL)):
        world.when(command).then_rejected(Code.CONFLICT)
    world.when(c.SetTimezone(USER, "UTC", only_if=NEW_YORK)).then(e.TimezoneSet)
    world.when(c.RemoveUser(USER, only_if="UTC")).then(e.UserRemoved)


@pytest.mark.req("DI-04")
def test_a_user_without_alarms_is_gone_with_the_row():
    world = World().living_in(NEW_YORK)
    world.when(c.RemoveUser(USER)).then(e.UserRemoved(USER, SEOUL))
    assert world.state.users == {}
    world.when(c.RemoveUser(USER)).then_rejected(Code.NOT_FOUND)


@pytest.mark.req("DI-04")
def test_alarms_of_a_user_whose_row_was_deleted_follow_the_default_zone():
    world = World().living_in(NEW_YORK).registered()
    world.when(c.RemoveUser(USER))
    assert world.alarm().user.timezone == SEOUL
    world.when(c.RemoveUser(USER)).then_rejected(Code.NOT_FOUND)
    world.when(c.SetTimezone(USER, "UTC", existing=True)).then_rejected(Code.NOT_FOUND)
    world.claimed().sent()
    world.when(c.AddUser(USER, NEW_YORK)).then(e.UserAdded)
    assert world.alarm().user.timezone == NEW_YORK, "it is the same user"


@pytest.mark.req("DI-04")
def test_a_user_whose_row_was_deleted_is_gone_with_the_last_alarm():
    world = World().registered().registered("page-2")
    world.when(c.RemoveUser(USER))
    world.when(c.DeletePages((PAGE,)))
    assert world.state.users.keys() == {USER}
    world.when(c.DeletePages(("page-2",)))
    assert (world.state.users, world.state.unlisted) == ({}, set())


def test_a_new_alarm_brings_the_row_back():
    world = World().living_in(NEW_YORK).registered()
    world.when(c.RemoveUser(USER))
    world.when(c.RegisterByPage("page-2", USER)).then(e.UserAdded(USER, SEOUL), e.AlarmRegistered)
    assert world.state.unlisted == set()


@pytest.mark.parametrize("command", [c.AddUser("a~b"), c.RemoveUser(""), c.SetTimezone("", SEOUL, existing=True)])
def test_ids_are_checked(command):
    World().when(command).then_rejected(Code.VALIDATION_ERROR, field="user_id")


def test_a_zone_must_exist():
    World().when(c.AddUser(USER, "Seoul")).then_rejected(Code.VALIDATION_ERROR, field="timezone")
