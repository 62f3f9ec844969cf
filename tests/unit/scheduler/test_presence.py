"""Presence: who has crossed the limit of silence, and when nobody may be said to have."""

from datetime import timedelta

import pytest

from drover.bus.telemetry import TelemetryBatch
from drover.scheduler.presence import Presence, Silent
from drover.testing.scenario import NOON


def batch(number, source="g1"):
    return TelemetryBatch(source, number, [])


@pytest.fixture
def presence():
    return Presence(silent_after_s=30, gap_after_s=3)


@pytest.mark.req("DF-04")
def test_a_device_is_silent_after_thirty_seconds_and_is_named_once(presence):
    presence.hear("d1", NOON, 100)
    presence.hear("d2", NOON + timedelta(seconds=10), 110)
    presence.is_gap(batch(1), 129)
    assert presence.take_silent(129.9) == []
    assert presence.take_silent(130) == [Silent("d1", NOON, 100)]
    assert presence.take_silent(131) == []


def test_a_sign_of_life_starts_the_time_again(presence):
    presence.hear("d1", NOON, 100)
    presence.hear("d1", NOON, 125)
    presence.is_gap(batch(1), 140)
    assert presence.take_silent(140) == []


def test_while_telemetry_itself_is_silent_nobody_is(presence):
    presence.hear("d1", NOON, 100)
    presence.is_gap(batch(1), 100)
    assert presence.take_silent(200) == []


def test_a_restart_gives_everybody_the_full_time(presence):
    presence.hear("d1", NOON, 100)
    presence.restart(["d1", "d2"], 129)
    presence.is_gap(batch(1), 158)
    assert presence.take_silent(158) == []
    presence.is_gap(batch(2), 159)
    assert {silent.device_id for silent in presence.take_silent(159)} == {"d1", "d2"}


def test_a_restart_forgets_who_is_not_online_any_more(presence):
    presence.hear("gone", NOON, 100)
    presence.restart(["d1"], 101)
    assert len(presence) == 1


@pytest.mark.parametrize(("number", "gap"), [(2, False), (3, True), (1, True)])
def test_a_jump_in_the_numbers_of_a_source_is_a_gap(presence, number, gap):
    assert not presence.is_gap(batch(1), 100)
    assert presence.is_gap(batch(number), 100.1) is gap


def test_a_long_silence_of_all_sources_is_a_gap(presence):
    presence.is_gap(batch(1), 100)
    assert presence.is_gap(batch(2), 104)


def test_a_second_gateway_is_no_gap(presence):
    presence.is_gap(batch(7), 100)
    assert not presence.is_gap(batch(40, source="g2"), 100.1)


def test_phones_of_a_gateway_that_was_cut_off_get_their_time_once_more_and_only_once(presence):
    presence.hear("d1", NOON, 100, source="g1")
    presence.is_gap(batch(1, "g1"), 100)
    presence.is_gap(batch(1, "g2"), 131)
    assert presence.take_silent(131) == []
    presence.is_gap(batch(2, "g2"), 160)
    assert presence.take_silent(160) == []
    presence.is_gap(batch(3, "g2"), 161)
    assert [silent.device_id for silent in presence.take_silent(161)] == ["d1"]


def test_a_gateway_that_comes_back_after_a_silence_is_a_gap(presence):
    presence.is_gap(batch(1, "g1"), 100)
    presence.is_gap(batch(1, "g2"), 104)
    assert presence.is_gap(batch(2, "g1"), 105)


def test_a_silence_that_could_not_be_recorded_is_named_again(presence):
    presence.hear("d1", NOON, 100)
    presence.is_gap(batch(1), 130)
    (silent,) = presence.take_silent(130)
    presence.put_back(silent)
    assert presence.take_silent(130) == [silent]


def test_a_device_that_was_heard_meanwhile_is_not_put_back(presence):
    presence.hear("d1", NOON, 100)
    presence.is_gap(batch(1), 130)
    (silent,) = presence.take_silent(130)
    presence.hear("d1", NOON, 130)
    presence.put_back(silent)
    assert presence.take_silent(130) == []


def test_the_sources_that_are_remembered_are_bounded(presence):
    for number in range(1500):
        presence.is_gap(batch(1, f"g{number}"), 100)
    assert len(presence._sources) == 1000
