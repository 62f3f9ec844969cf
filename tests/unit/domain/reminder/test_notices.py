"""Notices: messages that a user gets once, whoever repeats the request and whatever happens to the sender."""

from datetime import timedelta

import pytest

from drover.domain.reminder import REMINDER
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.domain.reminder.notices import TOLD_WITHIN
from drover.domain.reminder.policy import KEYS_REMEMBERED_FOR
from tests.unit.domain.reminder.world import USER, World

NOTICE = "cleanup:1"


def asked(world: World, **fields) -> c.Notify:
    return c.Notify(NOTICE, USER, "refunded", "one test", **{"asked_at": world.now, **fields})


def notified() -> World:
    world = World()
    world.when(asked(world))
    return world


@pytest.mark.req("SY-16")
def test_a_notice_is_due_at_once_and_ends_with_its_sending():
    world = notified()
    world.then(e.UserAdded, e.AlarmRegistered)
    assert world.decision.events[-1].once is True
    assert world.claimed().state.in_hand.keys() == {NOTICE}
    world.sent(NOTICE).then(e.AlarmSent, e.AlarmDeleted)
    assert not world.state.alarms and not world.state.once


@pytest.mark.req("SY-16", "DI-04")
def test_a_notice_also_ends_when_a_sender_of_the_users_own_has_sent_it():
    world = notified()
    world.when(c.ChangeAlarm(NOTICE, USER, processed_at=world.now)).then(e.AlarmDispatched)
    world.when(c.ChangeAlarm(NOTICE, USER, sent_count=2, release=True)).then(e.AlarmSent, e.AlarmDeleted)
    assert not world.state.alarms and not world.state.once


@pytest.mark.req("SY-16")
def test_a_repeated_request_sends_nothing_again_while_it_waits_is_sent_or_was_sent():
    world = notified()
    command = asked(world)
    world.when(command).then_nothing()
    world.claimed().when(command).then_nothing()
    world.sent(NOTICE).when(command).then_nothing()
    world.after(hours=23).when(command).then_nothing()
    world.after(days=9).when(command).then_nothing()
    assert TOLD_WITHIN < KEYS_REMEMBERED_FOR, "ids are remembered for longer than requests are accepted"


@pytest.mark.req("SY-16")
def test_a_failure_that_passes_is_tried_again_with_the_same_key_for_a_day():
    world = notified().claimed().failed(NOTICE)
    world.then(e.SendingFailed)
    world.after(minutes=1).claimed().then(e.AlarmDispatched)
    assert (world.decision.events[0].sending, world.decision.events[0].life) == (1, 1)
    world.after(hours=24).failed(NOTICE).then(e.SendingFailed, e.AlarmDeleted)


@pytest.mark.req("SY-16")
def test_a_notice_that_cannot_be_sent_is_dropped():
    notified().claimed().failed(NOTICE, permanent=True).then(e.SendingFailed, e.AlarmDeleted)


@pytest.mark.req("SY-16")
def test_a_notice_whose_sender_died_or_does_not_know_is_sent_again_with_the_same_key():
    world = notified().claimed().unknown(NOTICE).then(e.SendingUncertain)
    world.after(hours=6).claimed().then(e.AlarmDispatched)
    world.after(hours=6).claimed().then(e.AlarmDispatched)
    assert world.decision.events[0].attempt == 3
    world.after(hours=13).unknown(NOTICE).then(e.SendingUncertain, e.AlarmDeleted)


def test_a_notice_outlives_a_snapshot():
    world = notified()
    again = REMINDER.from_image(REMINDER.to_image(world.state))
    assert again.once == {NOTICE}


def test_an_alarm_of_a_page_goes_on_after_its_sending():
    world = World().registered().claimed().sent()
    world.then(e.AlarmSent)
    assert world.state.alarms


def test_a_request_from_yesterday_is_too_old():
    world = World()
    world.when(asked(world, asked_at=world.now - TOLD_WITHIN - timedelta(seconds=1))).then_nothing()


def test_a_notice_needs_valid_ids():
    world = World()
    world.when(c.Notify("a page", USER, "", "", world.now)).then_rejected("VALIDATION_ERROR", field="page_id")
