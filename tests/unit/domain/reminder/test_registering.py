"""Alarms are made, renewed and deleted with their pages."""

from datetime import timedelta

import pytest

from drover.domain.errors import Code
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.domain.reminder.keys import sending_key
from drover.domain.reminder.policy import ALARMS_PER_USER_MAX, KEYS_REMEMBERED_FOR, TEXT_CHARS_MAX
from drover.domain.reminder.texts import unpack
from tests.unit.domain.reminder.world import PAGE, SEOUL, USER, World


@pytest.mark.req("RM-01", "RM-02")
def test_a_new_alarm_is_due_now_and_begins_with_one():
    world = World()
    world.when(c.RegisterByPage(PAGE, USER, "title", "body")).then(
        e.UserAdded(USER, SEOUL),
        e.AlarmRegistered(
            page_id=PAGE, user_id=USER, title="title", body="body", next_alarm_time=world.now, sent_count=1, life=1
        ),
    ).then_answers(page_id=PAGE, user_id=USER, next_alarm_time=world.now, sent_count=1, created=True)
    world.claimed().then(e.AlarmDispatched)


@pytest.mark.req("RM-02")
def test_a_page_that_has_an_alarm_is_due_now_and_keeps_its_count():
    world = World().registered().claimed().sent().claimed().then_nothing()
    world.when(c.RegisterByPage(PAGE, USER, "new", "text")).then(
        e.AlarmRenewed(PAGE, USER, "new", "text", world.now, 2)
    ).then_answers(sent_count=2, created=False)
    world.claimed()
    assert world.events_of(e.AlarmDispatched)[0].sending == 2


def test_a_text_that_is_not_given_stays():
    world = World().registered()
    world.when(c.RegisterByPage(PAGE, USER, body="other"))
    assert unpack(world.alarm().text) == (f"title of {PAGE}", "other")


@pytest.mark.req("RM-01")
@pytest.mark.parametrize("letter", ["x", "가", "😀"])
def test_texts_are_cut_at_2000_characters_not_refused(letter):
    world = World()
    world.when(c.RegisterByPage(PAGE, USER, letter * 5000, letter * 2001))
    title, body = unpack(world.alarm().text)
    assert title == body == letter * TEXT_CHARS_MAX
    world.then_answers(title=title, body=body)


@pytest.mark.parametrize("field", ["page_id", "user_id"])
@pytest.mark.parametrize("value", ["", "a b", "x" * 129, "a~1", "line\n"])
def test_an_id_that_is_none_is_refused(field, value):
    command = c.RegisterByPage(**{"page_id": PAGE, "user_id": USER, field: value})
    World().when(command).then_rejected(Code.VALIDATION_ERROR, field=field)


def test_a_page_belongs_to_one_user():
    World().registered(user="user_a").when(c.RegisterByPage(PAGE, "user_b")).then_rejected(Code.CONFLICT)


def test_a_user_has_so_many_alarms_and_no_more():
    world = World().registered()
    world.state.users[USER].alarms = ALARMS_PER_USER_MAX
    world.when(c.RegisterByPage("one-more", USER)).then_rejected(Code.CONFLICT)
    world.when(c.RegisterByPage(PAGE, USER)).then(e.AlarmRenewed)


@pytest.mark.req("RM-05")
def test_deleting_pages_deletes_their_alarms_and_leaves_the_others():
    world = World().registered("a").registered("b").registered("c")
    world.when(c.DeletePages(("a", "c", "a", "unknown"), USER)).then(
        e.AlarmDeleted("a", USER, 1), e.AlarmDeleted("c", USER, 1)
    ).then_answers(deleted=["a", "c"])
    world.claimed()
    assert [event.page_id for event in world.events_of(e.AlarmDispatched)] == ["b"]
    assert world.state.users[USER].alarms == 1


@pytest.mark.req("RM-05")
def test_deleting_what_is_not_there_is_no_fault_and_no_event():
    world = World().when(c.DeletePages(("x",))).then_nothing()
    assert world.decision.result == {"deleted": []}


@pytest.mark.req("RM-05")
def test_one_user_does_not_delete_anothers_page_unless_nobody_in_particular_asks():
    world = World().registered(user="user_a")
    world.when(c.DeletePages((PAGE,), "user_b")).then_nothing()
    world.when(c.DeletePages((PAGE,))).then(e.AlarmDeleted(PAGE, "user_a", 1))


@pytest.mark.req("RM-05")
def test_a_sending_that_is_in_hand_when_its_page_is_deleted_changes_nothing_any_more():
    world = World().registered().claimed()
    late = world.report(c.ReportSent)
    world.when(c.DeletePages((PAGE,))).then(e.AlarmDeleted)
    world.when(late).then_rejected(Code.STALE_ATTEMPT)
    assert world.state.first() is None


@pytest.mark.req("RM-10")
def test_a_page_that_comes_back_soon_after_its_deletion_has_keys_of_its_own():
    world = World().registered().claimed()
    late = world.report(c.ReportSent)
    world.when(c.DeletePages((PAGE,)))
    world.registered()
    assert world.alarm().life == 2
    assert sending_key(PAGE, 1, 1) == "page-1:1"
    assert sending_key(PAGE, 1, 2) == "page-1:1~2"
    world.when(late).then_rejected(Code.STALE_ATTEMPT)


def test_deleted_pages_are_remembered_for_two_days_and_no_longer():
    world = World().registered("a").registered("b")
    world.when(c.DeletePages(("a",)))
    world.now += KEYS_REMEMBERED_FOR + timedelta(seconds=1)
    world.when(c.DeletePages(("b",)))
    assert world.state.deleted == {"b": 1}
    assert [stone.page_id for stone in world.state.deletions] == ["b"]


def test_a_users_zone_is_seoul_until_it_is_set():
    world = World().registered()
    assert world.state.users[USER].timezone == SEOUL
    world.when(c.SetTimezone(USER, "Europe/Berlin")).then(e.TimezoneSet(USER, "Europe/Berlin"))
    world.when(c.SetTimezone(USER, "Europe/Berlin")).then_nothing()
    assert world.decision.result == {"user_id": USER, "timezone": "Europe/Berlin"}


def test_a_zone_can_be_set_before_there_is_an_alarm():
    world = World()
    world.when(c.SetTimezone(USER, "Europe/Berlin")).then(e.UserAdded(USER, "Europe/Berlin"))
    world.then_answers(timezone="Europe/Berlin")
    world.when(c.RegisterByPage(PAGE, USER)).then(e.AlarmRegistered)


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "asia/seoul", "Asia/Seoul\n"])
def test_a_zone_that_nobody_knows_is_refused(name):
    World().when(c.SetTimezone(USER, name)).then_rejected(Code.VALIDATION_ERROR, field="timezone")
