"""Token buckets on a clock that the tests move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.web.ratelimit import ALLOWED, Limited, Limiter, Refused


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_burst_is_allowed_and_then_what_the_rate_gives(clock):
    limiter = Limiter(2.0, 3, clock=clock)
    assert [limiter.check("d") for _ in range(3)] == [ALLOWED] * 3
    assert limiter.check("d") == Refused(pytest.approx(0.5))
    clock.now += 0.5
    assert limiter.check("d") is ALLOWED
    assert isinstance(limiter.check("d"), Refused)
    clock.now += 1000
    assert [limiter.check("d") for _ in range(3)] == [ALLOWED] * 3, "it fills up, and not beyond"
    assert isinstance(limiter.check("d"), Refused)


def test_keys_have_nothing_to_do_with_each_other(clock):
    limiter = Limiter(1.0, 1, clock=clock)
    assert limiter.check("a") is ALLOWED
    assert isinstance(limiter.check("a"), Refused)
    assert limiter.check("b") is ALLOWED


@pytest.mark.req("DF-19")
def test_three_refusals_in_a_row_stop_the_key_for_five_minutes_and_one_of_them_says_so(clock):
    limiter = Limiter(1.0, 1, clock=clock)
    limiter.check("d")
    assert limiter.check("d") == limiter.check("d") == Refused(1.0)
    assert limiter.check("d") == Refused(300.0, stopped=True, first_stop=True)
    clock.now += 100
    assert limiter.check("d") == Refused(200.0, stopped=True)
    assert limiter.check("e") is ALLOWED
    clock.now += 199.5
    assert limiter.check("d") == Refused(0.5, stopped=True), "what is refused in a stop does not make it longer"
    clock.now += 0.5
    assert limiter.check("d") is ALLOWED
    assert [limiter.check("d").first_stop for _ in range(4)] == [False, False, True, False], (
        "the next one is told again"
    )


def test_a_limiter_may_refuse_without_ever_stopping(clock):
    limiter = Limiter(1.0, 1, clock=clock, stop_after=None)
    limiter.check("d")
    assert [limiter.check("d") for _ in range(20)] == [Refused(1.0)] * 20
    clock.now += 1
    assert limiter.check("d") is ALLOWED


def test_an_allowed_request_ends_the_row(clock):
    limiter = Limiter(1.0, 1, clock=clock)
    for _ in range(10):
        assert limiter.check("d") is ALLOWED
        assert limiter.check("d") == limiter.check("d") == Refused(1.0)
        clock.now += 1


def test_memory_has_a_bound_and_the_least_recently_used_is_forgotten(clock):
    limiter = Limiter(1.0, 1, clock=clock, keys_max=3)
    for key in "abcacd":
        limiter.check(key)
    assert len(limiter) == 3
    assert isinstance(limiter.check("a"), Refused)
    assert limiter.check("b") is ALLOWED, "forgotten for d"
    assert len(limiter) == 3


def test_keys_that_are_full_again_go_by_themselves(clock):
    limiter = Limiter(1.0, 1, clock=clock)
    for number in range(100):
        limiter.check(f"old-{number}")
    for _ in range(4):
        limiter.check("stopped")
    clock.now += 10
    for number in range(100):
        limiter.check(f"new-{number}")
    assert len(limiter) == 101, "all but those of now, and one that is stopped"
    assert limiter.check("stopped").stopped


STEPS = st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 5)), max_size=60)


@given(STEPS, st.sampled_from([0.3, 1.0, 7.0]), st.integers(1, 4))
def test_no_key_gets_more_than_burst_and_rate_whatever_it_does(steps, rate, burst):
    clock = Clock()
    limiter = Limiter(rate, burst, clock=clock, stop_s=3.0)
    allowed: dict[str, list[float]] = {}
    for key, pause in steps:
        clock.now += pause
        if limiter.check(key) is ALLOWED:
            allowed.setdefault(key, []).append(clock.now)
    for times in allowed.values():
        for first in range(len(times)):
            for last in range(first, len(times)):
                assert last - first + 1 <= burst + rate * (times[last] - times[first]) + 1e-3


@given(STEPS, st.sampled_from([0.3, 1.0, 7.0]), st.integers(1, 4))
def test_whoever_waits_as_told_is_let_in(steps, rate, burst):
    clock = Clock()
    limiter = Limiter(rate, burst, clock=clock, stop_s=3.0)
    for key, pause in steps:
        clock.now += pause
        verdict = limiter.check(key)
        if isinstance(verdict, Refused):
            assert verdict.retry_after_s > 0
            clock.now += verdict.retry_after_s
            assert limiter.check(key) is ALLOWED or verdict.stopped


@given(STEPS, st.sampled_from([0.3, 1.0, 7.0]), st.integers(1, 4))
def test_forgetting_a_full_bucket_changes_no_answer(steps, rate, burst):
    """A limiter for each key never meets a new key, so it never forgets."""
    clock = Clock()
    together = Limiter(rate, burst, clock=clock, stop_s=3.0)
    apart = {key: Limiter(rate, burst, clock=clock, stop_s=3.0) for key in "abcd"}
    for key, pause in steps:
        clock.now += pause
        assert together.check(key) == apart[key].check(key)


@pytest.mark.req("DF-19")
@pytest.mark.parametrize(("wait_s", "header"), [(0.01, "1"), (1.0, "1"), (1.2, "2"), (300.0, "300"), (0.0, "1")])
def test_429_says_in_whole_seconds_when_to_come_back(wait_s, header):
    error = Limited(wait_s, "device")
    assert (error.status, error.code, error.headers["Retry-After"]) == (429, "RATE_LIMITED", header)
