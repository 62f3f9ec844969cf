"""A user is erased: what the log keeps, and what is refused afterwards."""

import pytest

from drover.domain.erasure import KeyRef, SealedText, token_of
from drover.domain.errors import Code
from drover.domain.reminder import REMINDER
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.domain.reminder.texts import pack, unpack
from tests.unit.domain.reminder.world import PAGE, SEOUL, USER, World

pytestmark = pytest.mark.req("SE-09")


def sealed(generation=0, payload="AAECAwQFBgcICQoLDA0ODw", user=USER):
    return str(SealedText(KeyRef("main", token_of("reminder", user), generation), payload))


def test_an_erasure_is_recorded_and_ends_subscriptions_and_the_users_row():
    world = World().when(c.AddSubscription(USER, "s1", "webpush", sealed()))
    world.when(c.EraseUser(USER)).then(
        e.UserErased(USER), e.SubscriptionRemoved(USER, "s1", "webpush", "erased"), e.UserRemoved(USER, SEOUL)
    )
    world.then_answers(user_id=USER)
    assert REMINDER.erasures(world.state) == {token_of("reminder", USER): 1}


def test_a_user_whom_the_state_no_longer_knows_can_be_erased():
    World().when(c.EraseUser("someone")).then(e.UserErased("someone"))


def test_what_was_sealed_before_the_erasure_is_refused_afterwards():
    world = World().when(c.EraseUser(USER))
    for command in (
        c.RegisterByPage(PAGE, USER, sealed(), ""),
        c.RegisterByPage(PAGE, USER, None, sealed()),
        c.AddAlarm(PAGE, USER, title=sealed()),
        c.AddSubscription(USER, "s1", "webpush", sealed()),
    ):
        world.when(command).then_rejected(Code.UNAVAILABLE)


def test_an_erased_user_may_come_back_with_a_new_key():
    world = World().when(c.EraseUser(USER))
    world.when(c.RegisterByPage(PAGE, USER, sealed(generation=1), "")).then(e.UserAdded, e.AlarmRegistered)
    world.when(c.EraseUser(USER)).then(e.UserErased, e.UserRemoved)
    world.when(c.RegisterByPage(PAGE, USER, sealed(generation=1), "")).then_rejected(Code.UNAVAILABLE)


def test_the_alarms_of_an_erased_user_can_be_deleted():
    world = World().when(c.RegisterByPage(PAGE, USER, sealed(), sealed())).when(c.EraseUser(USER))
    world.when(c.DeletePages((PAGE,), USER)).then(e.AlarmDeleted)
    assert not world.state.users


def test_a_snapshot_remembers_erasures():
    world = World().when(c.EraseUser(USER))
    again = REMINDER.from_image(REMINDER.to_image(world.state))
    assert REMINDER.erasures(again) == {token_of("reminder", USER): 1}


def test_a_sealed_text_is_not_cut():
    long = sealed(payload="A" * 9000)
    world = World().when(c.RegisterByPage(PAGE, USER, long, "x" * 9000))
    title, body = unpack(world.state.alarms[PAGE].text)
    assert (title, len(body)) == (long, 2000)


@pytest.mark.parametrize(
    ("title", "body"),
    [
        (sealed(), sealed(payload="____")),
        (sealed(), ""),
        ("", sealed()),
        (sealed(), sealed(generation=1)),
        (sealed(), "plain"),
        ("plain", sealed()),
        (sealed(payload="AB"), sealed(payload="A")),
    ],
)
def test_sealed_texts_come_out_as_they_went_in(title, body):
    assert unpack(pack(title, body)) == (title, body)


def test_sealed_texts_are_packed_without_base64_and_with_the_name_of_their_key_once():
    title = sealed(payload="A" * 120)
    assert len(pack(title, title)) < 2 * 90 + 40
