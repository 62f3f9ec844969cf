"""Ways to reach a user."""

import pytest

from drover.domain.errors import Code
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.domain.reminder.policy import SUBSCRIPTIONS_PER_USER_MAX
from tests.unit.domain.reminder.world import SEOUL, USER, World


@pytest.mark.req("RM-11")
def test_a_subscription_is_kept_sealed_and_can_be_taken_back():
    world = (
        World()
        .when(c.AddSubscription(USER, "s1", "webpush", "sealed"))
        .then(e.UserAdded(USER, SEOUL), e.SubscriptionAdded(USER, "s1", "webpush", "sealed"))
    )
    world.then_answers(id="s1", user_id=USER, channel="webpush")
    world.when(c.RemoveSubscription(USER, "s1")).then(e.SubscriptionRemoved(USER, "s1", "webpush", "removed"))
    assert world.state.subscriptions == {}
    world.when(c.RemoveSubscription(USER, "s1")).then_rejected(Code.NOT_FOUND)


@pytest.mark.req("RM-11")
def test_the_same_subscription_again_replaces_its_keys():
    world = World().when(c.AddSubscription(USER, "s1", "webpush", "old"))
    world.when(c.AddSubscription(USER, "s1", "webpush", "new")).then(e.SubscriptionAdded)
    assert [known.sealed for known in world.state.subscriptions[USER].values()] == ["new"]


@pytest.mark.req("RM-11")
def test_a_dead_subscription_is_retired_and_the_reason_is_kept():
    world = World().when(c.AddSubscription(USER, "s1", "webpush", "x"))
    world.when(c.RemoveSubscription(USER, "s1", "gone")).then(e.SubscriptionRemoved(USER, "s1", "webpush", "gone"))


def test_a_user_has_so_many_and_no_more():
    world = World()
    for number in range(SUBSCRIPTIONS_PER_USER_MAX):
        world.when(c.AddSubscription(USER, f"s{number}", "webpush", "x"))
    world.when(c.AddSubscription(USER, "more", "webpush", "x")).then_rejected(Code.CONFLICT)
    world.when(c.AddSubscription(USER, "s0", "webpush", "y")).then(e.SubscriptionAdded)


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (c.AddSubscription(USER, "s 1", "webpush", "x"), "subscription_id"),
        (c.AddSubscription(USER, "s1", "pigeon", "x"), "channel"),
        (c.AddSubscription(USER, "s1", "webpush", "x" * 9000), "subscription"),
        (c.AddSubscription("", "s1", "webpush", "x"), "user_id"),
        (c.RemoveSubscription(USER, "s1", "Not Me"), "code"),
    ],
)
def test_what_is_malformed_is_refused(command, field):
    World().when(command).then_rejected(Code.VALIDATION_ERROR, field=field)
