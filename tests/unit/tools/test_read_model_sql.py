"""The SQL that is made from the rows: it is fresh, and says what they say."""

from __future__ import annotations

from datetime import datetime
from importlib.resources import files
from uuid import UUID

import pytest

from drover.domain.fleet.state import DeviceStatus
from drover.readmodel.column import BigInt, Json, PgType, column
from drover.readmodel.model import GENERATED
from drover.readmodel.models import READ_MODELS
from drover.readmodel.relation import View, relation
from drover.readmodel.row import Row
from drover.readmodel.table import Index, KeyedTable
from tools.read_model_sql import model_ddl, table_ddl, view_ddl


class PhoneRow(Row, frozen=True):
    """A phone that somebody owns."""

    name: str
    """What people call it."""
    id: UUID
    calls: BigInt
    seen_at: datetime | None = None


PHONES = KeyedTable(
    name="phone_rows",
    row=PhoneRow,
    key=("id",),
    fillfactor=70,
    indices=(
        Index("phone_rows_name", "name", unique=True, where="calls > 0", why="Names are unique once it is used."),
    ),
)


@pytest.mark.parametrize("model", READ_MODELS, ids=lambda model: model.context)
def test_the_generated_file_is_fresh(model):
    file = files("drover.readmodel") / model.context / GENERATED
    assert file.read_text(encoding="utf-8") == model_ddl(model), "run `make contracts`"


@pytest.mark.parametrize("model", READ_MODELS, ids=lambda model: model.context)
def test_the_generated_file_says_so_in_its_first_line(model):
    assert "Generated" in model_ddl(model).splitlines()[0]
    assert model.ddl.startswith(model_ddl(model))


def test_a_table_has_its_columns_and_comments_key_first():
    assert table_ddl(PHONES).splitlines() == [
        "-- A phone that somebody owns.",
        "CREATE TABLE phone_rows (",
        "  id      uuid PRIMARY KEY,",
        "  name    text NOT NULL,",
        "  calls   int8 NOT NULL,",
        "  seen_at timestamptz",
        ") WITH (fillfactor = 70);",
        "-- Names are unique once it is used.",
        "CREATE UNIQUE INDEX phone_rows_name ON phone_rows (name) WHERE calls > 0;",
    ]


def test_a_view_shows_the_columns_of_its_relation_and_computes_the_others():
    phones = relation("fleet", "phones", PhoneRow, view=View("phone_rows", "p"), computed={"name": "upper(p.name)"})
    assert view_ddl(phones).split() == (
        [
            "CREATE",
            "VIEW",
            "phones",
            "AS",
            "SELECT",
            "p.id,",
            "upper(p.name)",
            "AS",
            "name,",
            "p.calls,",
            "p.seen_at",
            "FROM",
            "phone_rows",
            "p;",
        ]
    )


def test_what_is_computed_must_be_a_column():
    with pytest.raises(AssertionError, match="no such columns"):
        relation("fleet", "phones", PhoneRow, computed={"colour": "'red'"})


@pytest.mark.parametrize(
    ("type_", "pg", "nullable"),
    [
        (str, PgType.TEXT, False),
        (str | None, PgType.TEXT, True),
        (DeviceStatus, PgType.TEXT, False),
        (BigInt | None, PgType.BIGINT, True),
        (Json, PgType.JSONB, False),
        (PhoneRow | None, PgType.JSONB, True),
        (list[str], PgType.TEXT_ARRAY, False),
        (float, PgType.FLOAT, False),
    ],
)
def test_the_type_of_a_column_follows_from_python(type_, pg, nullable):
    found = column("x", type_)
    assert (found.type, found.nullable) == (pg, nullable)


def test_every_relation_knows_its_columns_in_full():
    for model in READ_MODELS:
        for one in model.relations:
            assert {column.name: column.type for column in one.shape} == one.columns
