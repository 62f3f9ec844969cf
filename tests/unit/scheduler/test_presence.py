"""Presence: who has crossed the limit of silence, and when nobody may be said to have."""

from collections import OrderedDict
from datetime import timedelta

import pytest

from drover.bus.telemetry import TelemetryBatch
from drover.scheduler.presence import Presence, Silent
from drover.scheduler.sources import Sources
from drover.testing.scenario import NOON


class Gateways:
    """They speak when they are told to, with numbers that follow each other."""

    def __init__(self, sources):
        self._sources = sources
        self._number = 0

    def speak(self, now_s, *names):
        for name in names or ("g1",):
            self._number += 1
            self._sources.is_gap(TelemetryBatch(name, self._number, []), now_s)


@pytest.fixture
def sources():
    return Sources(gap_after_s=3)


@pytest.fixture
def gateways(sources):
    return Gateways(sources)


@pytest.fixture
def presence(sources):
    return Presence(silent_after_s=30, sources=sources)


@pytest.mark.req("DF-04")
def test_a_device_is_overdue_after_thirty_seconds(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    presence.hear("d2", NOON + timedelta(seconds=10), 110, "g1")
    gateways.speak(129)
    assert presence.overdue(129.9) == []
    assert presence.overdue(130) == [Silent("d1", NOON, 30)]


@pytest.mark.req("DF-05")
def test_a_device_that_is_still_silent_is_named_again_with_how_long_it_has_been(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    gateways.speak(130)
    assert presence.overdue(130) == [Silent("d1", NOON, 30)]
    gateways.speak(160)
    assert presence.overdue(160) == [Silent("d1", NOON, 60)]


def test_a_sign_of_life_starts_the_time_again(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    presence.hear("d1", NOON, 125, "g1")
    gateways.speak(140)
    assert presence.overdue(140) == []


class CountedLooks(OrderedDict):
    looks = 0

    def items(self):
        for item in super().items():
            self.looks += 1
            yield item


def test_finding_who_is_overdue_looks_at_nobody_else(presence, gateways):
    presence._heard = heard = CountedLooks()
    for number in range(1_000):
        presence.hear(f"d{number}", NOON, 100 + number // 10, "g1")
    presence.hear("d0", NOON, 200, "g1")
    gateways.speak(130)
    assert [silent.device_id for silent in presence.overdue(130)] == [f"d{number}" for number in range(1, 10)]
    assert heard.looks == 10, "the nine, and the first that is not"


def test_a_silence_that_was_dealt_with_comes_up_again_only_after_the_full_time(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    gateways.speak(130)
    presence.start_again("d1", 130)
    gateways.speak(159)
    assert presence.overdue(159) == []
    gateways.speak(160)
    assert presence.overdue(160) == [Silent("d1", NOON, 30)]


def test_a_device_that_is_forgotten_is_not_named_and_does_not_come_back_by_itself(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    presence.forget("d1")
    presence.start_again("d1", 101)
    gateways.speak(200)
    assert presence.overdue(200) == []
    assert len(presence) == 0


def test_while_telemetry_itself_is_silent_nobody_is(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    gateways.speak(100)
    for now_s in range(100, 300):
        assert presence.overdue(now_s) == []


def test_a_restart_gives_everybody_the_full_time(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    presence.restart(["d1", "d2"], 129)
    gateways.speak(158)
    assert presence.overdue(158) == []
    gateways.speak(159)
    assert presence.overdue(159) == [Silent("d1", NOON, 30), Silent("d2", None, 30)]


def test_a_restart_forgets_who_is_not_watched_any_more(presence):
    presence.hear("gone", NOON, 100, "g1")
    presence.restart(["d1"], 101)
    assert len(presence) == 1


def test_phones_of_a_gateway_that_was_cut_off_get_their_time_once_more_and_only_once(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    gateways.speak(100, "g1")
    gateways.speak(131, "g2")
    assert presence.overdue(131) == []
    gateways.speak(160, "g2")
    assert presence.overdue(160) == []
    gateways.speak(161, "g2")
    assert presence.overdue(161) == [Silent("d1", NOON, 30)]
    gateways.speak(191, "g2")
    assert presence.overdue(191) == [Silent("d1", NOON, 60)]


def test_a_gateway_that_dies_while_its_phone_is_silent_gives_that_phone_its_time_once_more(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    gateways.speak(140, "g1")
    assert presence.overdue(140) == [Silent("d1", NOON, 40)]
    gateways.speak(144, "g2")
    assert presence.overdue(144) == []
    gateways.speak(174, "g2")
    assert presence.overdue(174) == [Silent("d1", NOON, 30)]


def test_a_device_is_heard_for_thirty_seconds_by_a_gateway_that_speaks(presence, gateways):
    assert not presence.is_heard("d1", 100)
    presence.hear("d1", NOON, 100, "g1")
    gateways.speak(129, "g1")
    assert presence.is_heard("d1", 129)
    assert not presence.is_heard("d1", 130)


def test_a_device_whose_gateway_was_cut_off_is_not_heard(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    gateways.speak(100, "g1")
    gateways.speak(104, "g2")
    assert not presence.is_heard("d1", 104)
    gateways.speak(131, "g2")
    assert presence.overdue(131) == []
    assert not presence.is_heard("d1", 131), "time that it was given is no sign of life"


def test_a_device_that_was_only_given_time_by_a_restart_is_not_heard(presence, gateways):
    presence.restart(["d1"], 100)
    gateways.speak(100)
    assert not presence.is_heard("d1", 100)


def test_a_gap_restarts_the_timers_of_that_gateways_devices_only(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    presence.hear("d2", NOON, 100, "g2")
    assert presence.restart_of({"g1"}, 120) == ["d1"]
    gateways.speak(130, "g1")
    gateways.speak(130, "g2")
    assert [silent.device_id for silent in presence.overdue(130)] == ["d2"]


def test_a_device_of_an_unknown_gateway_gets_its_time_once_more_by_a_gap_and_only_once(presence, gateways):
    presence.restart(["d1"], 100)
    assert presence.restart_of({"g1"}, 120) == ["d1"]
    assert presence.restart_of({"g1"}, 140) == []
    gateways.speak(150, "g1")
    assert [silent.device_id for silent in presence.overdue(150)] == ["d1"]


def test_a_gateway_that_speaks_again_gives_its_phones_their_time_again(presence, gateways):
    presence.hear("d1", NOON, 100, "g1")
    gateways.speak(100, "g1")
    gateways.speak(131, "g2")
    assert presence.overdue(131) == []  # cut off: its timer restarts
    assert presence.restart_of({"g1"}, 160) == ["d1"]
    gateways.speak(162, "g1")
    gateways.speak(162, "g2")
    assert presence.overdue(162) == []
