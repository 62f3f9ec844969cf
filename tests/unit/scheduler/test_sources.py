"""Gateways as sources of telemetry: when a batch may be missing, and who does not speak."""

import pytest

from drover.bus.telemetry import TelemetryBatch
from drover.scheduler.sources import SOURCES_MAX, Sources


def batch(number, source="g1"):
    return TelemetryBatch(source, number, [])


@pytest.fixture
def sources():
    return Sources(gap_after_s=3)


@pytest.mark.parametrize(("number", "gap"), [(2, False), (3, True), (1, True)])
def test_a_jump_in_the_numbers_of_a_source_is_a_gap(sources, number, gap):
    assert not sources.is_gap(batch(1), 100)
    assert sources.is_gap(batch(number), 100.1) is gap


def test_a_long_silence_of_all_sources_is_a_gap(sources):
    sources.is_gap(batch(1), 100)
    assert sources.is_gap(batch(2), 104)


def test_a_gateway_that_is_new_after_a_silence_of_all_is_a_gap(sources):
    sources.is_gap(batch(1, "g1"), 100)
    assert sources.is_gap(batch(1, "g2"), 104)


def test_a_second_gateway_is_no_gap(sources):
    sources.is_gap(batch(7), 100)
    assert not sources.is_gap(batch(40, source="g2"), 100.1)


def test_a_gateway_that_comes_back_after_a_silence_is_a_gap(sources):
    sources.is_gap(batch(1, "g1"), 100)
    sources.is_gap(batch(1, "g2"), 103)
    assert sources.is_gap(batch(2, "g1"), 105)


def test_all_are_silent_until_one_speaks_and_again_when_none_does(sources):
    assert sources.are_all_silent(100)
    sources.is_gap(batch(1, "g1"), 100)
    sources.is_gap(batch(1, "g2"), 101)
    sources.is_gap(batch(2, "g1"), 102)
    assert not sources.are_all_silent(105)
    assert sources.are_all_silent(105.1)


def test_a_gateway_is_cut_off_when_it_does_not_speak_or_is_not_known(sources):
    sources.is_gap(batch(1, "g1"), 100)
    assert not sources.is_cut_off("g1", 103)
    assert sources.is_cut_off("g1", 103.1)
    assert sources.is_cut_off("g2", 103)


def test_the_sources_that_are_remembered_are_bounded(sources):
    for number in range(SOURCES_MAX + 500):
        sources.is_gap(batch(1, f"g{number}"), 100)
    assert len(sources) == SOURCES_MAX
