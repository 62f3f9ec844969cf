"""Resume tokens: they come back as they were; what cannot be read is no place to go on from."""

from __future__ import annotations

import pytest

from drover.api.rows.token import TOKEN_CHARS_MAX, Stand, format_token, parse_token
from drover.domain.partitions import PARTITIONS_MAX
from drover.readmodel.models import LIVE


def test_a_token_says_where_each_relation_stands():
    stands = {
        ("fleet", "devices"): Stand("1f0c", 125),
        ("fleet", "jobs"): Stand("1f0c", 7),
        ("reminder.p2", "alarm"): Stand("aa", 0),
    }
    text = format_token(stands)
    assert text == "fleet=1f0c:devices.125:jobs.7,reminder.p2=aa:alarm.0"
    assert parse_token(text) == stands


@pytest.mark.parametrize(
    "text", ["", "fleet", "fleet=1.2", "fleet=1f:devices", "fleet=1f:devices.x", "fleet=1f:devices.１", "," * 9_000]
)
def test_what_is_no_token_is_no_place(text):
    assert parse_token(text) == {}


def test_a_position_beyond_all_is_no_place():
    assert parse_token(f"fleet=1f:devices.{2**63}:jobs.1") == {("fleet", "jobs"): Stand("1f", 1)}


def test_the_longest_there_can_be_has_room():
    fleet = {("fleet", name): Stand("f" * 16, 10**12) for name, many in LIVE.items() if many[0].context == "fleet"}
    divided = {
        (f"reminder.p{number}", name): Stand("f" * 16, 10**12)
        for number in range(PARTITIONS_MAX)
        for name in ("alarm",)
    }
    assert len(format_token(fleet | divided)) < TOKEN_CHARS_MAX
