"""The form of a read model: when its tables get a new schema, when they are extended in place, and that nobody forgets
to count it."""

from __future__ import annotations

import pytest

from drover.readmodel.form import Definition, digest_of, next_forms, placed, read_forms, schema_of
from drover.readmodel.models import READ_MODELS

DDL = """
CREATE TABLE parts (
  id    uuid PRIMARY KEY,
  title text NOT NULL,
  PRIMARY KEY (id, title)
) WITH (fillfactor = 50);
CREATE INDEX parts_title ON parts (title);
CREATE UNIQUE INDEX parts_once ON parts (id);

CREATE FUNCTION is_new(title text) RETURNS bool
RETURN title = 'new';

CREATE VIEW shown AS
SELECT p.id,
       p.title,
       upper(p.title,
         1) AS loud
FROM parts p;
"""
FIRST = {"inventory": Definition(1, DDL)}
FORMS = next_forms({}, {}, FIRST)

pytestmark = pytest.mark.req("YR-08")


def changed(old: str, new: str, *, rules: int = 1):
    """The form after a change of the SQL."""
    assert old in DDL
    return next_forms(FORMS, FIRST, {"inventory": Definition(rules, DDL.replace(old, new))})["inventory"]


def is_in_place(form) -> bool:
    assert form.number == 1
    return form.base == FORMS["inventory"].base


def test_every_read_model_has_the_form_that_was_counted_last():
    counted = {context: form.digest for context, form in read_forms().items()}
    assert counted == {model.context: digest_of(model.definition) for model in READ_MODELS}, "run `make contracts`"


def test_a_new_read_model_has_not_changed():
    assert FORMS["inventory"].number == 0
    assert FORMS["inventory"].base == FORMS["inventory"].digest


def test_the_same_tables_with_another_comment_keep_their_form():
    commented = {"inventory": Definition(1, f"-- Spare parts.\n{DDL}")}
    assert next_forms(FORMS, commented, commented) == FORMS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  id    uuid", "  maker text,\n  id    uuid"),
        ("       p.title,\n", "       p.maker,\n       p.title,\n"),
        ("CREATE UNIQUE", "CREATE INDEX parts_id ON parts (id);\nCREATE UNIQUE"),
    ],
    ids=["nullable column", "column of a view", "index"],
)
def test_what_is_only_added_keeps_the_schema(old, new):
    assert is_in_place(changed(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  id    uuid", "  maker text NOT NULL,\n  id    uuid"),
        ("  id    uuid", "  id    text"),
        ("  title text NOT NULL,\n", ""),
        ("fillfactor = 50", "fillfactor = 90"),
        ("CREATE INDEX parts_title ON parts (title);\n", ""),
        ("CREATE UNIQUE", "CREATE UNIQUE INDEX other ON parts (title);\nCREATE UNIQUE"),
        ("= 'new'", "= 'old'"),
        ("       p.title,\n", ""),
        ("         1)", "         2)"),
        ("FROM parts p", "FROM parts p WHERE p.title <> ''"),
        ("CREATE VIEW", "CREATE TABLE more (\n  id uuid PRIMARY KEY\n);\n\nCREATE VIEW"),
        ("CREATE VIEW shown", "CREATE VIEW seen"),
        ("(id, title)", "(title, id)"),
    ],
)
def test_every_other_change_of_the_sql_makes_a_new_schema(old, new):
    assert not is_in_place(changed(old, new))


def test_other_rules_make_a_new_schema_even_with_the_same_tables():
    assert not is_in_place(changed("uuid", "uuid", rules=2))


def test_a_second_column_keeps_the_schema_too():
    one = {"inventory": Definition(1, DDL.replace("  id    uuid", "  maker text,\n  id    uuid"))}
    two = {"inventory": Definition(1, DDL.replace("  id    uuid", "  maker text,\n  colour text,\n  id    uuid"))}
    once = next_forms(FORMS, FIRST, one)
    twice = next_forms(once, one, two)["inventory"]
    assert (twice.number, twice.base) == (2, FORMS["inventory"].base)


def test_a_change_of_a_file_that_was_not_counted_makes_a_new_schema():
    """The files on the disk are not those that were counted: nobody knows what has changed."""
    edited = {"inventory": Definition(1, DDL.replace("uuid", "text"))}
    more = {
        "inventory": Definition(1, DDL.replace("uuid", "text").replace("p.title,\n", "p.title,\n       1 AS one,\n"))
    }
    assert not is_in_place(next_forms(FORMS, edited, more)["inventory"])


def test_sql_names_the_schema_of_this_programs_form():
    form = read_forms()["fleet"]
    assert schema_of("fleet") == f"rm_fleet_{form.base[:8]}"
    sql = placed("SELECT alarm_rows.x FROM rm_fleet.devices d JOIN rm_render.render_rows USING (id)")
    assert (
        sql
        == f"SELECT alarm_rows.x FROM {schema_of('fleet')}.devices d JOIN {schema_of('render')}.render_rows USING (id)"
    )
