"""A fold takes in the log commit by commit, and nothing that has a hole in it."""

import pytest

from drover.eventlog.codec import Codec, UnknownEvent
from drover.eventlog.log import StoredCommit
from drover.testing.scenario import NOON
from drover.writer.fold import Fold, LogBroken, decode_image, encode_image

from .conftest import TALLY, Added


def commit(seq, *events):
    return StoredCommit(seq, "c", 1, NOON, Codec.of(TALLY).encode(events))


def added(n, amount=1, cause="a"):
    return Added(amount, n=n, at=NOON, by="t", cause=cause)


def test_a_gap_in_the_ordinals_stops_it_and_says_where():
    fold = Fold(TALLY)
    fold.apply(commit(1, added(1)))
    with pytest.raises(LogBroken) as caught:
        fold.apply(commit(2, added(3)))
    assert (caught.value.seq, caught.value.expected_n, caught.value.found_n) == (2, 2, 3)


def test_the_same_commit_twice_is_a_hole_too():
    fold = Fold(TALLY)
    fold.apply(commit(1, added(1)))
    with pytest.raises(LogBroken):
        fold.apply(commit(1, added(1)))


def test_an_unknown_event_stops_it():
    with pytest.raises(UnknownEvent):
        Fold(TALLY).apply(StoredCommit(1, "c", 1, NOON, b'{"type":"Tomorrow","n":1}\n'))


def test_an_image_of_it_comes_back_the_same():
    fold = Fold(TALLY)
    fold.apply(commit(5, added(1, 3, "x"), added(2, 4, "y~digest")))
    again = decode_image(TALLY, encode_image(fold))
    assert (again.seq, again.n, again.at, again.state) == (5, 2, NOON, fold.state)
    assert again.remembered.by_key == fold.remembered.by_key
