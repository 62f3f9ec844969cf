"""Pauses between tries."""

from datetime import timedelta

import pytest

from drover.domain.backoff import Backoff, Retries

DOUBLING = Backoff(first_s=1, max_s=10)


def test_pauses_double_from_the_first_to_the_longest():
    assert [DOUBLING.pause_s(failures) for failures in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_a_factor_of_one_keeps_the_pause():
    assert [Backoff(first_s=3, max_s=10, factor=1).pause_s(failures) for failures in (1, 2, 50)] == [3, 3, 3]


@pytest.mark.parametrize("failures", [100, 10**6, 10**12])
def test_however_often_it_fails_the_pause_stays_within_its_bound(failures):
    assert Backoff(first_s=0.001, max_s=1e12).pause_s(failures) == 1e12
    assert DOUBLING.pause(failures) == timedelta(seconds=10)


def test_jitter_spreads_a_pause_around_its_length():
    backoff = Backoff(first_s=1, max_s=10, jitter=0.2)
    assert [backoff.pause_s(2, roll) for roll in (0, 0.5, 1)] == pytest.approx([1.6, 2, 2.4])


def test_a_success_starts_the_series_again():
    retries = Retries(DOUBLING)
    assert [retries.failed(), retries.failed()] == [1, 2]
    retries.succeeded()
    assert retries.failed() == 1


def test_retries_take_their_jitter_from_the_caller():
    rolls = iter([0.0, 1.0])
    retries = Retries(Backoff(first_s=1, max_s=1, jitter=0.5), lambda: next(rolls))
    assert [retries.failed(), retries.failed()] == [0.5, 1.5]
