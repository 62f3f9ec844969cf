"""Rows that do not fit into memory come back as they were."""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.postgres.types import uuid_of
from drover.projection.errors import SpillFull
from drover.projection.spill import Spill
from drover.projector.app import PROJECTIONS
from drover.readmodel.table import KeyedTable
from tests.small_disk import small_disk

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Row(msgspec.Struct, frozen=True):
    id: UUID
    name: str
    said: list[str]
    at: datetime | None = None


TABLE = KeyedTable(name="rows", row=Row, key=("id",))
PAIRS = KeyedTable(name="pairs", row=Row, key=("id", "name"))
KEYS = [uuid_of(str(UUID(int=number))) for number in range(20)]

deeds = st.lists(
    st.tuples(st.sampled_from(["put", "get", "pop"]), st.sampled_from(KEYS), st.text(max_size=5)), max_size=120
)


@given(deeds)
def test_it_is_a_dictionary_whatever_is_done_to_it(done):
    expected = {}
    with closing(Spill(TABLE, rows_max=4)) as spill:
        for what, key, name in done:
            row = Row(key, name, [name], AT)
            if what == "put":
                expected[key] = row
                spill.put(key, row)
            elif what == "get":
                assert spill.get(key) == expected.get(key)
            else:
                assert spill.pop(key) == expected.pop(key, None)
        assert sorted(row.id for row in spill.rest()) == sorted(expected)
        assert {row.id: row for row in spill.rest()} == expected


def test_a_row_that_changed_after_it_was_put_aside_is_there_once_and_as_it_is_now():
    with closing(Spill(TABLE, rows_max=2)) as spill:
        for key in KEYS:
            spill.put(key, Row(key, "old", []))
        spill.put(KEYS[0], Row(KEYS[0], "new", []))
        found = [row for row in spill.rest() if row.id == KEYS[0]]
        assert [row.name for row in found] == ["new"]
        assert spill.pop(KEYS[0]).name == "new"
        assert spill.get(KEYS[0]) is None, "the older state in the file has gone with it"


def test_keys_of_several_columns_are_told_apart():
    with closing(Spill(PAIRS, rows_max=2)) as spill:
        rows = [Row(key, name, []) for key in KEYS[:5] for name in ("a", "b")]
        for row in rows:
            spill.put(PAIRS.key_of(row), row)
        assert [spill.get(PAIRS.key_of(row)) for row in rows] == rows


def test_what_is_put_aside_leaves_no_file_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with closing(Spill(TABLE, rows_max=2)) as spill:
        for key in KEYS:
            spill.put(key, Row(key, "", []))
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "table", [table for projection in PROJECTIONS for table in projection.keyed], ids=lambda table: table.name
)
def test_the_rows_of_every_read_model_can_be_put_aside(table):
    msgspec.msgpack.Decoder(table.row)


def put(spill, *, rows):
    for number in range(rows):
        key = uuid_of(str(UUID(int=number)))
        spill.put(key, Row(key, os.urandom(200).hex(), []))


def test_without_room_for_the_rows_it_is_said_where_and_what_to_do(tmp_path, monkeypatch):
    with small_disk(tmp_path / "tiny", "64k") as tiny:
        monkeypatch.setattr(tempfile, "tempdir", str(tiny))
        with closing(Spill(TABLE, rows_max=2)) as spill, pytest.raises(SpillFull) as caught:
            put(spill, rows=1_000)
        assert str(tiny) in str(caught.value)
        assert "TMPDIR" in str(caught.value)
        assert not list(tiny.iterdir()), "nothing is left there"


def test_a_temporary_folder_that_is_not_there_is_said_too(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with closing(Spill(TABLE, rows_max=2)) as spill, pytest.raises(SpillFull, match="TMPDIR"):
        put(spill, rows=3)
