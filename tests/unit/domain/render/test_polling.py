"""RN-05, word for word: 10 s, 5 s after work was found, 30 s after 10 empty polls, at once on demand."""

import pytest

from drover.domain.render.polling import Pace


def waits(*found: bool, pace: Pace | None = None) -> list[float]:
    """How long a worker waits after each of these polls."""
    pace = pace or Pace()
    return [pace.poll(one) for one in found]


@pytest.mark.req("RN-05")
def test_ten_seconds():
    assert waits(False) == [10]


@pytest.mark.req("RN-05")
def test_five_seconds_after_work_was_found():
    assert waits(True) == [5]
    assert waits(True, False, False) == [5, 5, 5]


@pytest.mark.req("RN-05")
def test_thirty_seconds_after_ten_empty_polls():
    assert waits(*[False] * 12) == [*[10] * 9, 30, 30, 30]
    assert waits(True, *[False] * 11) == [5, *[5] * 9, 30, 30]


@pytest.mark.req("RN-05")
def test_the_ten_are_in_a_row():
    assert waits(*[False] * 9, True, *[False] * 10) == [*[10] * 9, 5, *[5] * 9, 30]


@pytest.mark.req("RN-05")
def test_work_ends_the_quiet_time():
    assert waits(*[False] * 10, True, False) == [*[10] * 9, 30, 5, 5]


@pytest.mark.req("RN-05")
def test_at_once_on_demand_needs_no_word_here():
    """Whoever is told of work polls at once, and the pace hears of that poll as of any other."""
    pace = Pace()
    for _ in range(10):
        pace.poll(False)
    assert pace.poll(True) == 5


@pytest.mark.req("RN-23")
def test_both_paces_can_be_set_and_work_never_makes_it_slower():
    assert waits(False, pace=Pace(every_s=20, idle_s=60)) == [20]
    assert waits(*[False] * 10, pace=Pace(every_s=20, idle_s=60))[-1] == 60
    assert waits(False, True, False, pace=Pace(every_s=1, idle_s=2)) == [1, 1, 1]
