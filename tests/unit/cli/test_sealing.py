"""Backups of keys: which are too old to be kept."""

from datetime import UTC, datetime

import pytest

from drover.cli.sealing import _new_file, remove_outdated

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


@pytest.mark.req("SE-09")
def test_a_backup_of_keys_is_removed_after_thirty_days_and_nothing_else_is(tmp_path):
    names = [
        "keys-20261018T120001Z.ndjson",
        "keys-20261018T115959Z.ndjson",
        "keys-20250101T000000Z.ndjson",
        "notes.txt",
    ]
    for name in names:
        (tmp_path / name).write_text("x")
    assert remove_outdated(tmp_path, NOW) == 2
    assert {path.name for path in tmp_path.iterdir()} == {names[0], "notes.txt"}


@pytest.mark.req("SE-09")
def test_what_a_killed_backup_left_is_removed_after_thirty_days_too(tmp_path):
    (tmp_path / "keys-20250101T000000Z.partial").write_text("wrapped keys")
    assert remove_outdated(tmp_path, NOW) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.req("SE-09")
def test_a_backup_that_fails_leaves_no_keys_behind(tmp_path):
    def fail() -> None:
        with _new_file(tmp_path / "keys-20261117T120000Z.ndjson") as file:
            file.write(b"wrapped keys")
            raise RuntimeError("the leader is away")

    with pytest.raises(RuntimeError):
        fail()
    assert not list(tmp_path.iterdir())
