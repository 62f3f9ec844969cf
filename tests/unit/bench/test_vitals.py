"""Core Web Vitals, from what a browser reports."""

from __future__ import annotations

import pytest

from tests.bench.vitals import Interaction, Shift, slow_interaction, third_quartile, worst_session


def shifts(*pairs: tuple[float, float]) -> list[Shift]:
    return [Shift(at_s * 1000, value, "") for at_s, value in pairs]


@pytest.mark.parametrize(
    ("seen", "cls"),
    [
        ((), 0.0),
        (((0.1, 0.02), (0.9, 0.03)), 0.05),  # together
        (((0.1, 0.02), (1.1, 0.03)), 0.03),  # a second apart: the worse one counts
        (tuple((0.9 * step, 0.01) for step in range(10)), 0.06),  # a session lasts five seconds
        (((3.0, 0.3), (0.0, 0.1)), 0.3),  # in any order
    ],
)
def test_layout_shifts_count_in_sessions(seen, cls):
    assert worst_session(shifts(*seen)) == pytest.approx(cls)


def interactions(*ms: float) -> list[Interaction]:
    return [Interaction(one, 0, 0, "") for one in ms]


@pytest.mark.parametrize(
    ("seen", "made", "inp_ms"),
    [
        ((), 0, 16),
        ((40, 300, 24), 3, 300),
        ((40, 300, 24), 49, 300),
        ((40, 300, 24), 50, 40),  # one in fifty is forgiven
        ((300,), 100, 16),  # all others were too fast to be reported
    ],
)
def test_the_slowest_interaction_counts_but_one_in_fifty(seen, made, inp_ms):
    assert slow_interaction(interactions(*seen), made) == inp_ms


@pytest.mark.parametrize(("values", "quartile"), [([5], 5), ([1, 2, 3, 4], 3), ([4, 3, 2, 1, 9], 4)])
def test_three_visits_in_four_are_as_good_as_the_third_quartile(values, quartile):
    assert third_quartile(values) == quartile
