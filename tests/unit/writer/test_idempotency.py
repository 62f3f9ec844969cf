"""What is remembered of commands, for how long and how many."""

from datetime import timedelta

from drover.testing.scenario import NOON
from drover.writer import idempotency
from drover.writer.idempotency import CommitMark, Remembered, memory_of


def ids(*keys, seq=1):
    return {key: memory_of(CommitMark(seq), "") for key in keys}


def test_what_is_older_than_ten_minutes_is_forgotten():
    remembered = Remembered()
    remembered.absorb(NOON, ids("a"))
    remembered.absorb(NOON + timedelta(minutes=11), ids("b"))
    assert set(remembered.by_key) == {"b"}


def test_time_that_does_not_count_makes_nothing_older():
    remembered, restored = Remembered(), Remembered()
    remembered.absorb(NOON, ids("a"))
    remembered.skip(timedelta(days=1))
    restored.restore(list(remembered.entries()))
    for memory in (remembered, restored):
        memory.absorb(NOON + timedelta(days=1, minutes=9), ids("b"))
        assert set(memory.by_key) == {"a", "b"}
        memory.absorb(NOON + timedelta(days=1, minutes=11), ids("c"))
        assert set(memory.by_key) == {"b", "c"}


def test_beyond_the_number_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(idempotency, "REMEMBERED_MAX", 3)
    remembered = Remembered()
    for minute, key in enumerate("abcde"):
        remembered.absorb(NOON + timedelta(minutes=minute), ids(key))
    assert set(remembered.by_key) == {"c", "d", "e"}


def test_what_a_client_may_still_repeat_is_never_forgotten_for_the_number(monkeypatch):
    monkeypatch.setattr(idempotency, "REMEMBERED_MAX", 3)
    remembered = Remembered()
    for second, key in enumerate("abcdefgh"):
        remembered.absorb(NOON + timedelta(seconds=second * 5), ids(key))
    assert set(remembered.by_key) == set("abcdefgh")


def test_a_snapshot_gives_back_the_same_memory():
    remembered, restored = Remembered(), Remembered()
    mark = CommitMark(7)
    remembered.absorb(NOON, {"plain": mark, "keyed": memory_of(mark, "digest")})
    restored.restore(list(remembered.entries()))
    assert restored.by_key == remembered.by_key
