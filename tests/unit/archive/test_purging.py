"""Which commits may leave a stream: given what is known of a partition, then the first commit that stays."""

from datetime import timedelta

import pytest

from drover.archive.purging import ARCHIVE, KEEP, LAST, SNAPSHOT, Limit, Standing, purge_limit
from drover.archive.retention import Keep, beyond_size, parse_keep

pytestmark = pytest.mark.req("YR-01")


def given(**known):
    """A partition of 1,000 commits that nobody needs in the stream, with what differs from that."""
    free = {"last": 1000, "archived": 1000, "snapshot": 1000, "positions": {"rm_fleet": 1000}, "unwanted": 1000}
    return Standing(**{**free, **known})


def test_what_is_archived_and_needed_by_nobody_may_go_but_the_last_commit():
    assert purge_limit(given(unwanted=5000)).below == 1000


@pytest.mark.parametrize(
    ("known", "limit"),
    [
        ({"last": 700}, Limit(700, LAST)),
        ({"archived": 700}, Limit(700, ARCHIVE)),
        ({"snapshot": 700}, Limit(700, SNAPSHOT)),
        ({"unwanted": 700}, Limit(700, KEEP)),
        ({"positions": {"rm_fleet": 1000, "notifier": 700}}, Limit(700, "notifier")),
        ({"positions": {"rm_fleet": 700, "notifier": 1000}}, Limit(700, "rm_fleet")),
    ],
)
def test_the_least_position_decides_and_is_named(known, limit):
    assert purge_limit(given(**known)) == limit


@pytest.mark.parametrize("known", ["last", "archived", "snapshot", "unwanted"])
def test_without_one_of_them_nothing_goes(known):
    assert purge_limit(given(**{known: 0})).below == 0


def test_a_reader_that_has_read_nothing_yet_keeps_all():
    assert purge_limit(given(positions={"rm_fleet": 0})) == Limit(0, "rm_fleet")


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("all", Keep()),
        ("12h", Keep(span=timedelta(hours=12))),
        ("30d", Keep(span=timedelta(days=30))),
        ("8w", Keep(span=timedelta(days=56))),
        ("500MB", Keep(bytes=500_000_000)),
        ("200GB", Keep(bytes=200_000_000_000)),
        ("2TB", Keep(bytes=2_000_000_000_000)),
    ],
)
def test_a_setting_is_everything_a_time_or_a_size(text, keep):
    assert parse_keep(text) == keep
    assert parse_keep(text).all == (text == "all")


def test_a_stream_within_its_size_keeps_all():
    assert beyond_size(bytes_max=1000, size=1000, messages=10, last=14) == 0


def test_a_stream_beyond_its_size_loses_as_many_of_its_oldest_commits_as_are_too_many():
    assert beyond_size(bytes_max=1000, size=4000, messages=100, last=600) == 501 + 75
    assert beyond_size(bytes_max=999, size=1000, messages=10, last=10) == 2, "rounded up"


def test_an_idle_partition_does_not_keep_the_others_in_a_stream_that_is_too_large():
    """Its last commit, which stays, may be a billion sequences before all others."""
    assert beyond_size(bytes_max=1000, size=4000, messages=101, last=1_000_000_000) == 1_000_000_000 + 1 - 25
