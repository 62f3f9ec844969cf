"""Which events somebody wants to see."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from drover.cli.moments import moment
from drover.cli.record import Record, records
from drover.cli.wanted import Wanted
from drover.eventlog.log import StoredCommit

from .conftest import BEGAN, CODEC, online, registered

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def recorded(event) -> Record:
    return records(StoredCommit(1, "id", 1, BEGAN, CODEC.encode([event])))[0]


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("30s", timedelta(seconds=30)),
        ("10m", timedelta(minutes=10)),
        ("1.5h", timedelta(minutes=90)),
        (" 7d ", timedelta(days=7)),
        ("2w", timedelta(days=14)),
        ("0s", timedelta()),
    ],
)
def test_how_long_ago(text, ago):
    assert moment(text, NOW) == NOW - ago


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-01-31T08:00:00Z", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("2026-01-31T17:00+09:00", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("2026-01-31 08:00", datetime(2026, 1, 31, 8).astimezone()),
        ("2026-01-31", datetime(2026, 1, 31).astimezone()),
    ],
)
def test_a_moment_with_an_offset_or_in_local_time(text, at):
    assert moment(text, NOW) == at


@pytest.mark.parametrize("text", ["", "yesterday", "10", "m", "-5m", "10 parsecs", "99999999999w", "2026-13-01"])
def test_what_is_no_moment_is_refused(text):
    with pytest.raises((ValueError, OverflowError)):
        moment(text, NOW)


@pytest.mark.parametrize(
    ("wanted", "passes"),
    [
        (Wanted(), True),
        (Wanted(types=("DeviceRegistered",)), True),
        (Wanted(types=("DeviceCameOnline", "DeviceRegistered")), True),
        (Wanted(types=("Device*",)), True),
        (Wanted(types=("Device",)), False),
        (Wanted(types=("deviceregistered",)), False),
        (Wanted(entity="d7"), True),
        (Wanted(entity="pc-1"), True),
        (Wanted(entity="age_verified"), True),
        (Wanted(entity="d"), False),
        (Wanted(entity="c1"), False),  # the cause is no entity
        (Wanted(by="service_role"), True),
        (Wanted(by="service"), False),
        (Wanted(from_n=5), True),
        (Wanted(from_n=6), False),
        (Wanted(since=BEGAN + timedelta(seconds=5)), True),
        (Wanted(since=BEGAN + timedelta(seconds=5, microseconds=1)), False),
        (Wanted(entity="d7", by="presence"), False),
    ],
)
def test_all_that_is_asked_for_must_hold(wanted, passes):
    assert wanted(recorded(registered(5, device="d7"))) is passes


def test_an_id_is_found_at_any_depth():
    line = b'{"type":"X","n":1,"at":"2026-01-31T08:00:00Z","by":"x","targets":[{"device":{"id":"d9"}}]}'
    (record,) = records(StoredCommit(1, "id", 1, BEGAN, line))
    assert Wanted(entity="d9")(record)
    assert not Wanted(entity="id")(record)


def test_another_device_is_not_wanted():
    assert not Wanted(entity="d1")(recorded(online(1, device="d2")))


def test_until_ends_with_its_moment_and_a_pattern_is_looked_for_in_the_line_as_it_is_stored():
    third = recorded(registered(3, device="d3"))
    assert Wanted(until=BEGAN + timedelta(seconds=3))(third)
    assert not Wanted(until=BEGAN + timedelta(seconds=2))(third)
    assert Wanted(pattern=re.compile('"serial_number":"SERIAL0+1"'))(third)
    assert not Wanted(pattern=re.compile("^SERIAL"))(third)


def test_only_without_any_filter_is_everything_wanted():
    assert Wanted().everything
    for some in (Wanted(entity="d1"), Wanted(until=NOW), Wanted(types=("X",)), Wanted(pattern=re.compile(""))):
        assert not some.everything
