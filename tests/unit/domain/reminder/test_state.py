"""The parts of a compact state: what is due, texts, snapshots."""

import msgspec
import pytest

from drover.domain.reminder import REMINDER, evolution
from drover.domain.reminder import commands as c
from drover.domain.reminder.due import STALE_MIN
from drover.domain.reminder.texts import DEFLATED_FROM_BYTES, pack, unpack
from tests.unit.domain.reminder.world import USER, World, utc


@pytest.mark.parametrize(
    ("title", "body"),
    [("", ""), ("제목", "본문"), ("x", "y" * 2000), ("z" * DEFLATED_FROM_BYTES, ""), ("=", "z"), ("\n", "😀" * 2000)],
)
def test_texts_come_out_as_they_went_in(title, body):
    assert unpack(pack(title, body)) == (title, body)


def test_long_texts_take_less_room():
    text = "one sentence after the other, as pages have them. " * 40
    assert len(pack("title", text)) < len(text) / 2


def test_what_is_outdated_in_the_heap_is_swept_out():
    world = World(utc(2026, 3, 2, 12)).registered()
    for minute in range(10 * STALE_MIN):
        world.scheduled(utc(2026, 3, 3, 12) if minute % 2 else utc(2026, 3, 4, 12))
    assert len(world.state.waiting._heap) <= 2 + STALE_MIN + 1
    assert world.state.due_s() == world.alarm().wake_s


def test_what_is_in_hand_does_not_wait_even_where_an_outdated_entry_has_the_same_second():
    world = World(utc(2026, 3, 2, 12)).registered().scheduled(utc(2026, 3, 2, 18)).registered().claimed()
    assert world.wakes() == utc(2026, 3, 2, 18), "six hours after the claim"
    assert world.state.waiting.first() is None
    assert world.state.recovering.first() is not None


def busy() -> World:
    """Something of everything."""
    world = World(utc(2026, 3, 2, 12)).living_in("America/New_York")
    for page in ("waiting", "retrying", "in_hand", "partial", "moved", "gone", "sent"):
        world.registered(page)
    world.scheduled(utc(2026, 5, 1, 1, 2, 3), "waiting").claimed()
    world.failed("retrying").unknown("partial", delivered=("s1",)).sent("sent")
    world.scheduled(utc(2026, 6, 1), "moved").when(c.DeletePages(("gone",)))
    world.when(c.AddSubscription(USER, "s1", "webpush", "sealed")).when(c.ChangeFetchLimit(12))
    for number in range(70):
        world.registered(f"crowd-{number}").scheduled(utc(2026, 7, 1), f"crowd-{number}")
    return world


def through_a_snapshot(state):
    data = msgspec.msgpack.encode(REMINDER.to_image(state))
    return REMINDER.from_image(msgspec.msgpack.decode(data, type=REMINDER.state))


def test_a_snapshot_keeps_everything():
    world = busy()
    before = msgspec.to_builtins(REMINDER.to_image(world.state))
    again = through_a_snapshot(world.state)
    assert msgspec.to_builtins(REMINDER.to_image(again)) == before
    assert again.first() == world.state.first()
    assert again.users[USER].minutes == world.state.users[USER].minutes
    assert again.users[USER].alarms == world.state.users[USER].alarms
    assert again.in_hand.keys() == world.state.in_hand.keys()
    assert again.deleted == world.state.deleted == {"gone": 1}
    assert again.alerts == world.state.alerts != {}


def test_from_a_snapshot_the_same_commands_have_the_same_effect():
    one, two = busy(), busy()
    two.state = through_a_snapshot(two.state)
    for world in (one, two):
        world.after(hours=7).claimed().sent("in_hand").registered("gone").scheduled(utc(2026, 7, 1), "gone")
    assert REMINDER.to_image(one.state) == REMINDER.to_image(two.state)
    assert one.alarm("gone").life == 2


@pytest.mark.req("YR-10")
def test_a_page_that_was_forgotten_early_never_gets_the_keys_of_before(monkeypatch):
    monkeypatch.setattr(evolution, "KEYS_REMEMBERED_MAX", 1)
    world = World()
    for _ in range(2):
        world.registered("again").when(c.DeletePages(("again",), USER))
    lives = [stone.life for stone in world.state.deletions]
    for page in ("other", "another"):
        world.after(minutes=30).registered(page).when(c.DeletePages((page,), USER))
    assert "again" not in world.state.deleted
    world.state = world.decider.from_image(world.decider.to_image(world.state))
    assert world.registered("again").alarm("again").life > max(lives)


@pytest.mark.req("YR-10")
def test_a_page_is_remembered_for_twenty_minutes_however_many_others_are_deleted(monkeypatch):
    monkeypatch.setattr(evolution, "KEYS_REMEMBERED_MAX", 1)
    world = World()
    for number in range(9):
        world.registered(f"page-{number}").when(c.DeletePages((f"page-{number}",), USER)).after(minutes=1)
    assert len(world.state.deleted) == 9


@pytest.mark.req("YR-10")
def test_a_notice_is_never_told_twice_however_many_pages_are_deleted(monkeypatch):
    """A sender that restarts repeats the requests of a day."""
    monkeypatch.setattr(evolution, "KEYS_REMEMBERED_MAX", 1)
    world = World()
    notice = c.Notify("cleanup:1", USER, "title", "body", asked_at=world.now)
    world.when(notice).claimed().sent("cleanup:1")
    for number in range(5):
        world.after(minutes=30).registered(f"page-{number}").when(c.DeletePages((f"page-{number}",), USER))
    assert len(world.state.deleted) == 2
    world.state = world.decider.from_image(world.decider.to_image(world.state))
    world.when(notice).then_nothing()
    for hours in (24, 26):
        world.after(hours=hours).registered("page").when(c.DeletePages(("page",), USER))
    assert "cleanup:1" not in world.state.deleted
    world.when(notice).then_nothing()
