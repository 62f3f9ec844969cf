"""The lists of `drover key list` and `drover key codes`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from click.testing import CliRunner

from drover.api.identity.issued_keys import KeyRecord
from drover.cli import enrolments, keys
from drover.cli.commands.key import key
from drover.cli.event_text import local

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def record(**fields) -> KeyRecord:
    values = dict.fromkeys(KeyRecord.__struct_fields__) | {
        "id": UUID(int=1),
        "name": "office",
        "role": "service_role",
        "expires_at": NOW + timedelta(days=365),
    }
    return KeyRecord(**values | fields)


def test_a_rotated_key_says_until_when_it_is_valid():
    ends_at = NOW + timedelta(hours=24)
    _, active, ending = keys._lines([record(), record(successor_id=UUID(int=2), ends_at=ends_at)], NOW)
    assert " active " in active
    assert f" until {local(ends_at)[:16]} " in ending


@pytest.mark.parametrize(
    ("module", "name", "advice"), [(keys, "list", "key create"), (enrolments, "codes", "key enrol PC")]
)
def test_an_empty_list_says_so_and_what_to_do(module, name, advice, monkeypatch):
    async def nothing(target, query):
        return []

    monkeypatch.setattr(module, "listed", nothing)
    monkeypatch.setattr(module, "find_target", lambda data_dir: None)
    result = CliRunner().invoke(key, [name])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("id ") and len(result.stdout.splitlines()) == 1
    assert result.stderr.startswith("No ") and advice in result.stderr
