"""Which states of the past are kept: all of the last hour, one an hour for a day, then one a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from drover.history.thinning import Kept, daily, surplus

pytestmark = pytest.mark.req("YR-09")

NOW = datetime(2026, 11, 17, 12, 30, tzinfo=UTC)


def every(minutes, for_, archived=False):
    """One checkpoint every so many minutes, the last of them now."""
    count = int(for_ / timedelta(minutes=minutes))
    return [Kept(n + 1, NOW - timedelta(minutes=minutes * (count - n - 1)), archived) for n in range(count)]


def left(checkpoints):
    gone = {one.seq for one in surplus(checkpoints)}
    return [one for one in checkpoints if one.seq not in gone]


def test_all_of_the_last_hour_stay():
    checkpoints = every(2, timedelta(hours=1))
    assert left(checkpoints) == checkpoints


def test_of_the_hours_before_one_an_hour_stays():
    kept = left(every(2, timedelta(hours=10)))
    older = [one for one in kept if NOW - one.at >= timedelta(hours=1)]
    assert [one.at.minute for one in older[1:]] == [0] * (len(older) - 1), "the first of each hour"
    assert len(older) == len({one.at.hour for one in older}) == 10


def test_of_the_days_before_one_a_day_stays():
    kept = left(every(10, timedelta(days=10)))
    older = [one.at.date() for one in kept if NOW - one.at >= timedelta(days=1)]
    assert len(older) == len(set(older))
    assert len(set(older)) >= 9


def test_thinning_again_and_again_leaves_no_gap():
    """What was kept for its hour may be the one of its day."""
    kept = []
    for one in every(20, timedelta(days=4)):
        kept = left([*kept, one])
    gaps = [(later.at, later.at - one.at) for one, later in pairwise(kept)]
    assert max(gap for _, gap in gaps) <= timedelta(hours=25)
    assert max(gap for at, gap in gaps if NOW - at < timedelta(hours=22)) < timedelta(hours=2)
    assert max(gap for at, gap in gaps if NOW - at < timedelta(minutes=30)) == timedelta(minutes=20)


def test_the_newest_stays_even_if_nothing_happened_for_long():
    quiet = [Kept(1, NOW - timedelta(days=90)), Kept(2, NOW - timedelta(days=90) + timedelta(minutes=1))]
    assert left(quiet) == quiet


def test_daily_ones_leave_postgres_after_a_month_only_if_the_archive_has_them():
    assert len(left(every(60, timedelta(days=60)))) > 55
    kept = left(every(60, timedelta(days=60), archived=True))
    assert min(one.at for one in kept) > NOW - timedelta(days=30)


def test_the_first_of_each_day_is_for_the_archive_once():
    checkpoints = [Kept(1, NOW - timedelta(days=1), True), Kept(2, NOW - timedelta(hours=23)), Kept(3, NOW)]
    assert [one.seq for one in daily(checkpoints)] == [3]


def test_nothing_is_thinned_of_nothing():
    assert surplus([]) == []
