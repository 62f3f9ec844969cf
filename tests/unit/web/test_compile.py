"""SQL from queries: identifiers from the relation only, every value a parameter."""

from __future__ import annotations

import pytest

from drover.web.errors import ApiError
from drover.web.postgrest.compile import ROWS_MAX, Compiled, compile_query
from drover.web.postgrest.grammar import parse_query, split_parameters
from drover.web.postgrest.relation import PgType, Relation

THINGS = Relation(
    name="things",
    schema="rm_test",
    context="test",
    columns={
        "id": PgType.UUID,
        "name": PgType.TEXT,
        "size": PgType.INTEGER,
        "seq": PgType.BIGINT,
        "on": PgType.BOOLEAN,
        "at": PgType.TIMESTAMPTZ,
        "tags": PgType.TEXT_ARRAY,
        "data": PgType.JSONB,
    },
    order=("id",),
)
UUID = "018f2b5e-0000-7000-8000-000000000001"


def compiled(query: str, **options: bool) -> Compiled:
    return compile_query(THINGS, parse_query(split_parameters(query)), **options)


def where(query: str) -> tuple[str, tuple[object, ...]]:
    made = compiled(query)
    return made.sql.split(" WHERE ")[1].split(" ORDER BY ")[0], made.parameters[:-2]


@pytest.mark.parametrize(
    ("query", "sql", "parameters"),
    [
        ("name=eq.x", '("name" = $1::text::text)', ("x",)),
        (f"id=eq.{UUID}", '("id" = $1::text::uuid)', (UUID,)),
        ("size=not.gte.5", 'NOT ("size" >= $1::text::int4)', ("5",)),
        ("size=in.(1,2)", '("size" = ANY ($1::text[]::int4[]))', (["1", "2"],)),
        ("name=ilike.*a*", '("name" ILIKE $1::text)', ("%a%",)),
        ("at=is.null", '("at" IS NULL)', ()),
        ("on=is.true", '("on" IS TRUE)', ()),
        ("tags=cs.{a}", '("tags" @> $1::text::text[])', ("{a}",)),
        (
            "or=(size.lt.1,and(size.gt.5,name.neq.x))&at=lt.now",
            '(("size" < $1::text::int4) OR (("size" > $2::text::int4) AND ("name" <> $3::text::text)))'
            ' AND ("at" < $4::text::timestamptz)',
            ("1", "5", "x", "now"),
        ),
    ],
)
def test_filters(query, sql, parameters):
    assert where(query) == (sql, parameters)


def test_a_value_never_becomes_sql():
    evil = "x'; DROP TABLE things; --"
    made = compiled(f"name=eq.{evil}&limit=1".replace(";", "%3B"))
    assert "DROP" not in made.sql
    assert made.parameters == (evil, 1, 0)


def test_columns_aliases_and_order():
    made = compiled("select=id,title:name&order=size.desc.nullslast")
    assert 'SELECT "id", "name" AS "title" FROM "rm_test"."things" AS "the row"' in made.sql
    assert 'ORDER BY "the row"."size" DESC NULLS LAST, "the row"."id" LIMIT' in made.sql


def test_an_answer_has_a_bound_whatever_is_asked_for():
    assert compiled("").limit == ROWS_MAX
    assert compiled("limit=1000000").limit == ROWS_MAX
    assert compiled("limit=3&offset=6").parameters == (3, 6)


def test_a_count_shares_the_filters_parameters():
    made = compiled("name=eq.x", count=True)
    assert made.sql.count("$1") == 2
    assert "count(*)" in made.sql
    assert made.parameters == ("x", ROWS_MAX, 0)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("nope=eq.1", "42703"),
        ("select=nope", "42703"),
        ("order=nope", "42703"),
        ("or=(nope.eq.1)", "42703"),
        ("id=eq.x", "22P02"),
        (f"id=in.({UUID},x)", "22P02"),
        ("size=eq.1.5", "22P02"),
        ("size=eq.", "22P02"),
        ("size=eq.9999999999", "22003"),
        ("seq=eq." + "9" * 30, "22003"),
        ("seq=eq." + "9" * 5000, "22P02"),
        ("on=eq.maybe", "22P02"),
        ("on=is.null&size=is.true", "42804"),
        ("id=like.a*", "42883"),
        ("name=cs.{a}", "42883"),
        ("tags=in.(a)", "42883"),
        ("select=*,others(*)", "PGRST200"),
    ],
)
def test_what_the_relation_does_not_have_is_refused(query, code):
    with pytest.raises(ApiError) as caught:
        compiled(query)
    assert (caught.value.status, caught.value.code) == (400, code)
