"""Migration files and what a database says it has: pure."""

from __future__ import annotations

from pathlib import Path

import pytest

from drover.postgres.migrate import Migration, MigrationChanged, MigrationGap, load_migrations, outstanding

ONE, TWO = Migration(1, "one", "SELECT 1"), Migration(2, "two", "SELECT 2")


def record(migration: Migration) -> tuple[int, str, str]:
    return migration.number, migration.name, migration.checksum


def test_only_what_is_missing_is_applied() -> None:
    assert outstanding([ONE, TWO], [record(ONE)]) == [TWO]


def test_an_edited_file_is_refused_by_name() -> None:
    with pytest.raises(MigrationChanged) as caught:
        outstanding([Migration(1, "one", "SELECT 11")], [record(ONE)])
    assert caught.value.file == "0001_one.sql"


def test_a_database_with_a_hole_is_refused() -> None:
    with pytest.raises(MigrationGap):
        outstanding([ONE, TWO], [record(TWO)])


def test_a_database_that_a_newer_release_migrated_is_left_as_it_is() -> None:
    assert outstanding([ONE], [record(ONE), record(TWO)]) == []


@pytest.mark.parametrize("names", [["0001_a.sql", "0003_b.sql"], ["0001_a.sql", "0001_b.sql"], ["first.sql"]])
def test_files_that_are_not_numbered_in_order_are_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text("SELECT 1")
    with pytest.raises(MigrationGap) as caught:
        load_migrations(tmp_path)
    assert caught.value.found == names[-1]


def test_the_migrations_of_the_platform_are_in_order() -> None:
    assert [m.number for m in load_migrations()] == list(range(1, len(load_migrations()) + 1))
