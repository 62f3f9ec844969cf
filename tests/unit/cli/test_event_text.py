"""Events as people read them."""

import time

import pytest

from drover.cli.event_text import compact, event_line, local
from drover.cli.output import printable
from drover.cli.record import records
from drover.eventlog.log import StoredCommit

from .conftest import BEGAN, CODEC, registered


@pytest.fixture
def in_seoul(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Seoul")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def line_of(payload):
    (record,) = records(StoredCommit(1, "id", 1, BEGAN, payload))
    return event_line(record).plain


@pytest.mark.usefixtures("in_seoul")
def test_a_line_has_local_time_ordinal_type_actor_and_the_fields():
    assert line_of(CODEC.encode([registered(42, device="d7")])) == (
        "2026-01-31 17:00:42.000      42  DeviceRegistered    service_role  device_id=d7  serial_number=SERIAL001"
        '  group_id=P1-G1  pc_id=pc-1  capabilities=["age_verified"]'
    )


@pytest.mark.usefixtures("in_seoul")
def test_times_are_local_to_the_millisecond():
    assert local(BEGAN.replace(microsecond=123999)) == "2026-01-31 17:00:00.123"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain-1.2:3/@", "plain-1.2:3/@"),
        ("붉은", "붉은"),
        ("two words", '"two words"'),
        ("", '""'),
        ("null", "null"),
        ("a=b", '"a=b"'),
        (None, "null"),
        (3, "3"),
        (True, "true"),
        ({"a": [1, "b"]}, '{"a":[1,"b"]}'),
    ],
)
def test_values_are_short_and_quoted_only_where_needed(value, text):
    assert compact(value) == text


@pytest.mark.parametrize("nasty", ["\x1b[2J", "\x07", "\r", "\x7f", "\x9b31m", "\u202e", "a\nb", "\u2028"])
def test_nothing_that_an_agent_sends_can_steer_the_terminal(nasty):
    assert nasty not in printable(nasty)
    assert printable(nasty).isprintable()
    assert compact(nasty).isprintable()


def test_what_looks_like_markup_is_shown_as_it_is():
    line = b'{"type":"X","n":1,"at":"2026-01-31T08:00:00Z","by":"[red]me[/]","note":"[bold]"}'
    assert "[red]me[/]" in line_of(line)
    assert '"[bold]"' in line_of(line)
