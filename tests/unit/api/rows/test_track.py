"""The chain of one relation: holes are noticed, memory has a bound, who comes back is told all or must read again."""

from __future__ import annotations

from itertools import count

import pytest

from drover.api.rows.track import Track, Why


@pytest.fixture
def track():
    made = Track(count(1).__next__, messages_max=4, bytes_max=100)
    made.begin("e1", 10, 10)
    return made


def told(entries):
    return [entry.why or entry.data.decode() for entry in entries]


def test_what_follows_on_the_last_is_told_in_order(track):
    begun = track.newest
    track.add(10, 12, b"a")
    track.add(12, 15, b"b")
    assert told(track.after(begun)) == ["a", "b"]
    assert track.last == 15


def test_what_does_not_follow_is_a_hole_and_makes_all_before_it_worthless(track):
    begun = track.newest
    track.add(10, 12, b"a")
    track.add(13, 15, b"c")
    assert told(track.after(begun)) == [Why.HOLE]
    assert [entry.to for entry in track.after(begun)] == [15]
    track.add(15, 16, b"d")
    assert told(track.after(begun)) == [Why.HOLE, "d"]


def test_a_heartbeat_shows_that_the_last_message_was_lost(track):
    track.add(10, 12, b"a")
    track.check(12)
    assert told(track.after(0)) == [Why.EPOCH, "a"]
    track.check(15)
    assert told(track.after(0)) == [Why.HOLE]
    track.check(15)
    assert len(track) == 1


def test_another_epoch_is_a_reset(track):
    track.add(10, 12, b"a")
    track.begin("e2", 12, 12)
    assert told(track.after(0)) == [Why.EPOCH]


def test_an_epoch_that_begins_with_a_message_of_another_relation_is_checked_by_the_next_heartbeat(track):
    track.begin("e2", None, 20)
    track.check(18)
    track.add(18, 21, b"a")
    assert told(track.after(0)) == [Why.EPOCH, "a"], "readers were told to read at 20, which is later than 18"
    track.begin("e3", None, 20)
    track.check(21)
    assert told(track.after(0)) == [Why.HOLE], "what came after 20 was lost"


@pytest.mark.req("DI-08")
def test_the_first_change_in_such_an_epoch_says_itself_what_it_follows(track):
    track.begin("e2", None, 20)
    assert track.add(18, 25, b"a")
    assert told(track.after(0)) == [Why.EPOCH, "a"], "readers were told to read at 20, which is later than 18"
    assert track.add(25, 26, b"b")
    assert track.resume("e2", 20) is not None
    assert track.resume("e2", 19) is None, "who comes back from before must read again"
    track.begin("e3", None, 20)
    assert not track.add(22, 25, b"a")
    assert told(track.after(0)) == [Why.HOLE], "what came at 22 was lost"


@pytest.mark.parametrize("size", [1, 40])
def test_memory_has_a_bound_and_who_falls_out_is_told(track, size):
    begun = track.newest
    for seq in range(10, 40):
        track.add(seq, seq + 1, b"x" * size)
    assert len(track) <= 4
    assert track.size_bytes <= 100
    assert track.after(begun) is None
    assert track.after(track.newest) == []
    assert track.resume("e1", 11) is None
    assert track.after(track.resume("e1", 39)) is not None


def test_a_message_larger_than_the_bound_is_kept_alone(track):
    track.add(10, 11, b"a")
    track.add(11, 12, b"x" * 1000)
    assert len(track) == 1


@pytest.mark.parametrize(("position", "missed"), [(10, ["a", "b"]), (12, ["b"]), (14, ["b"]), (15, [])])
def test_who_comes_back_is_told_exactly_what_it_missed(track, position, missed):
    track.add(10, 12, b"a")
    track.add(12, 15, b"b")
    assert told(track.after(track.resume("e1", position))) == missed


def test_who_comes_back_from_before_this_process_or_from_another_epoch_must_read_again(track):
    assert track.resume("e1", 9) is None
    assert track.resume("e0", 10) is None
    assert Track(count(1).__next__).resume("e1", 10) is None


def test_who_comes_back_after_a_reset_is_told_of_it_if_it_came_from_before(track):
    track.add(10, 12, b"a")
    track.reset(Why.BEHIND, 20)
    track.add(20, 21, b"b")
    assert told(track.after(track.resume("e1", 12))) == [Why.BEHIND, "b"]
    assert told(track.after(track.resume("e1", 20))) == ["b"]


def test_presence_is_told_in_order_with_what_events_changed(track):
    begun = track.newest
    track.add(10, 10, b"seen")
    track.add(10, 12, b"a")
    track.add(12, 12, b"seen again")
    assert told(track.after(begun)) == ["seen", "a", "seen again"]
    assert track.last == 12


def test_presence_pushes_nothing_out_of_the_window_and_has_a_bound_of_its_own(track):
    begun = track.newest
    track.add(10, 12, b"a")
    for _ in range(50):
        track.add(12, 12, b"s" * 50)
    assert track.size_bytes <= 2 * 100
    assert "a" in told(track.after(begun))
    assert track.resume("e1", 10) == begun


def test_who_was_too_slow_for_presence_misses_it_and_need_not_read_again(track):
    begun = track.newest
    track.add(10, 10, b"first")
    for _ in range(50):
        track.add(10, 10, b"later")
    assert "first" not in told(track.after(begun))
    assert Why.SLOW not in told(track.after(begun))


def test_presence_that_does_not_follow_shows_a_hole(track):
    begun = track.newest
    track.add(15, 15, b"seen")
    assert told(track.after(begun)) == [Why.HOLE]


def test_a_reset_makes_presence_before_it_worthless(track):
    begun = track.newest
    track.add(10, 10, b"seen")
    track.reset(Why.BEHIND, 20)
    assert told(track.after(begun)) == [Why.BEHIND]
