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
    assert presence.take_silent(130) == [Silent("d1", NOON)]
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
