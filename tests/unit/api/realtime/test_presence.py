"""Presence across processes: told once, repaired after a lost message, forgotten with its process."""

from __future__ import annotations

import msgspec
import pytest

from drover.api.realtime import presence as presence_module
from drover.api.realtime.limits import SILENT_PEER_S
from drover.api.realtime.presence import Presences, Topic
from drover.bus.realtime import PeerAsk, PeerLeft, PeerSnapshot, PresenceMoved, Present

FARM = Topic("farm", is_private=False)


def person(key: str, ref: str | None = None) -> Present:
    return Present("farm", False, key, ref or f"ref-{key}", msgspec.Raw(msgspec.json.encode({"phx_ref": ref or key})))


def state(presences: Presences) -> set[str]:
    return {*msgspec.json.decode(presences.state(FARM))}


class Pair:
    """Two processes; what one tells reaches the other, unless the test loses it."""

    def __init__(self) -> None:
        self.one, self.two = Presences("one"), Presences("two")
        self.now = 0.0

    def tell_two(self, messages):
        """Until nobody has anything to say."""
        diffs = []
        while messages:
            said, answers = [], []
            for message in messages:
                found, more = self.two.hear(message, self.now)
                said.append(found)
                answers += more
            diffs += [one for one in said if one]
            messages = [answer for ask in answers for answer in self.one.hear(ask, self.now)[1]]
        return diffs


@pytest.fixture
def pair():
    made = Pair()
    made.tell_two([made.one.beat()])
    return made


def test_who_comes_and_goes_in_one_process_does_so_in_the_other(pair):
    (diff,) = pair.tell_two(pair.one.move((person("a"), True))[1])
    assert (diff[FARM].joins.keys(), diff[FARM].leaves) == ({"a"}, {})
    assert state(pair.two) == {"a"}
    (diff,) = pair.tell_two(pair.one.move((person("a"), False))[1])
    assert (diff[FARM].joins, diff[FARM].leaves.keys()) == ({}, {"a"})
    assert state(pair.two) == set()


@pytest.mark.req("DI-08")
def test_a_lost_message_is_found_by_the_next_one_or_by_a_beat(pair):
    pair.one.move((person("lost"), True))
    pair.tell_two(pair.one.move((person("b"), True))[1])
    assert state(pair.two) == {"lost", "b"}
    pair.one.move((person("lost"), False))
    pair.tell_two([pair.one.beat()])
    assert state(pair.two) == {"b"}


@pytest.mark.control
def test_control_without_numbers_a_lost_message_is_never_found(pair):
    pair.one.move((person("lost"), True))
    (message,) = pair.one.move((person("b"), True))[1]
    pair.tell_two([msgspec.structs.replace(message, number=message.number - 1)])
    assert state(pair.two) == {"b"}


def test_the_same_message_twice_has_no_effect(pair):
    (message,) = pair.one.move((person("a"), True))[1]
    pair.tell_two([message])
    assert pair.tell_two([message]) == []


def test_a_process_that_starts_asks_for_those_who_are_there():
    pair = Pair()
    pair.one.move((person("a"), True), (person("b"), True))
    assert pair.two.hear(pair.one.beat(), 0.0)[1] == [PeerAsk("two", "one")]
    pair.tell_two([pair.one.beat()])
    assert state(pair.two) == {"a", "b"}


def test_a_snapshot_comes_in_parts_and_holds_when_all_are_there(pair, monkeypatch):
    monkeypatch.setattr(presence_module, "SNAPSHOT_BYTES_MAX", 40)
    for n in range(5):
        pair.one.move((person(f"p{n}"), True))
    parts = pair.one.hear(PeerAsk("two", "one"), 0.0)[1]
    assert len(parts) > 1
    assert all(isinstance(part, PeerSnapshot) for part in parts)
    pair.tell_two(parts[:-1])
    assert state(pair.two) == set()
    pair.tell_two(parts[-1:])
    assert len(state(pair.two)) == 5


def test_an_older_snapshot_takes_nothing_back(pair):
    old = pair.one.hear(PeerAsk("two", "one"), 0.0)[1]
    pair.tell_two(pair.one.move((person("a"), True))[1])
    pair.tell_two(old)
    assert state(pair.two) == {"a"}


@pytest.mark.parametrize("how", ["it says so", "it is silent"])
def test_with_a_process_those_leave_who_were_present_there(pair, how):
    pair.tell_two(pair.one.move((person("a"), True))[1])
    if how == "it says so":
        diffs, _ = pair.two.hear(PeerLeft("one"), 0.0)
    else:
        assert pair.two.forget_silent(SILENT_PEER_S) == {}
        diffs = pair.two.forget_silent(SILENT_PEER_S + 0.1)
    assert diffs[FARM].leaves.keys() == {"a"}
    assert state(pair.two) == set()


def test_one_key_may_be_present_several_times(pair):
    pair.tell_two(pair.one.move((person("a", "1"), True), (person("a", "2"), True))[1])
    pair.two.move((person("a", "3"), True))
    pair.tell_two(pair.one.move((person("a", "1"), False))[1])
    found = msgspec.json.decode(pair.two.state(FARM))
    assert [meta["phx_ref"] for meta in found["a"]["metas"]] == ["2", "3"]


def test_own_messages_are_passed_over(pair):
    (message,) = pair.one.move((person("a"), True))[1]
    assert isinstance(message, PresenceMoved)
    assert pair.one.hear(message, 0.0) == ({}, [])
