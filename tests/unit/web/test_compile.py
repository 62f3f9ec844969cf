"""SQL from queries: identifiers from the relation only, every value a parameter."""

from __future__ import annotations

import pytest

from drover.readmodel.column import PgType
from drover.readmodel.relation import Relation, Relationship, check_relations
from drover.web.errors import ApiError
from drover.web.postgrest.compile import EMBEDDED_ROWS_MAX, ROWS_MAX, Compiled, compile_query
from drover.web.postgrest.grammar import parse_query, split_parameters
from drover.web.postgrest.sight import Sight

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
        "box_id": PgType.UUID,
    },
    order=("id",),
    relationships={
        "boxes": Relationship("boxes", "to-one", "box_id", "id"),
        "secrets": Relationship("secrets", "to-many", "id", "thing_id"),
    },
    aliases={"name": {"spoon": "ladle"}},
)
BOXES = Relation(
    name="boxes",
    schema="rm_test",
    context="test",
    columns={"id": PgType.UUID, "label": PgType.TEXT},
    order=("label", "id"),
    relationships={"things": Relationship("things", "to-many", "id", "box_id")},
)
SECRETS = Relation(
    name="secrets", schema="rm_test", context="test", columns={"id": PgType.UUID, "thing_id": PgType.UUID}
)
SIGHT = Sight({"things": THINGS, "boxes": BOXES})
UUID = "018f2b5e-0000-7000-8000-000000000001"


def compiled(query: str, relation: Relation = THINGS, sight: Sight = SIGHT, **options: bool) -> Compiled:
    return compile_query(relation, parse_query(split_parameters(query)), sight=sight, **options)


def where(query: str) -> tuple[str, tuple[object, ...]]:
    made = compiled(query)
    return made.sql.split(" WHERE ")[1].split(" ORDER BY ")[0], made.parameters[:-2]


@pytest.mark.parametrize(
    ("query", "sql", "parameters"),
    [
        ("name=eq.x", '("the row"."name" = $1::text::text)', ("x",)),
        (f"id=eq.{UUID}", '("the row"."id" = $1::text::uuid)', (UUID,)),
        ("size=not.gte.5", 'NOT ("the row"."size" >= $1::text::int4)', ("5",)),
        ("size=in.(1,2)", '("the row"."size" = ANY ($1::text[]::int4[]))', (["1", "2"],)),
        ("name=ilike.*a*", '("the row"."name" ILIKE $1::text)', ("%a%",)),
        ("at=is.null", '("the row"."at" IS NULL)', ()),
        ("on=is.true", '("the row"."on" IS TRUE)', ()),
        ("tags=cs.{a}", '("the row"."tags" @> $1::text::text[])', ("{a}",)),
        ("data->a->>b=eq.x", '(("the row"."data" #>> $1::text[]) = $2::text::text)', (["a", "b"], "x")),
        ("data->a=is.null", '(("the row"."data" #> $1::text[]) IS NULL)', (["a"],)),
        (
            "or=(size.lt.1,and(size.gt.5,name.neq.x))&at=lt.now",
            '(("the row"."size" < $1::text::int4) OR (("the row"."size" > $2::text::int4) AND '
            '("the row"."name" <> $3::text::text))) AND ("the row"."at" < $4::text::timestamptz)',
            ("1", "5", "x", "now"),
        ),
    ],
)
def test_filters(query, sql, parameters):
    assert where(query) == (sql, parameters)


@pytest.mark.req("OQ-11")
@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("name=eq.spoon", ("ladle",)),
        ("name=neq.spoon", ("ladle",)),
        ("name=in.(fork,spoon)", (["fork", "ladle"],)),
        ("name=like.spoon", ("spoon",)),
        ("name=gt.spoon", ("spoon",)),
    ],
)
def test_a_relation_may_know_other_words_for_a_value(query, parameters):
    assert where(query)[1] == parameters


@pytest.mark.parametrize("column", ["name", "data->>a", 'data->>"x\'; DROP TABLE things; --"'])
def test_a_value_never_becomes_sql(column):
    evil = "x'; DROP TABLE things; --"
    made = compile_query(THINGS, parse_query([(column, f"eq.{evil}"), ("order", "data->a"), ("limit", "1")]))
    assert "DROP" not in made.sql
    assert evil in made.parameters


def test_columns_aliases_and_order():
    made = compiled("select=id,title:name,data->>a,size::text&order=size.desc.nullslast")
    assert (
        'SELECT "the row"."id" AS "id", "the row"."name" AS "title", ("the row"."data" #>> $1::text[]) AS "a", '
        '"the row"."size"::text AS "size" FROM "rm_test"."things" AS "the row"'
    ) in made.sql
    assert 'ORDER BY "the row"."size" DESC NULLS LAST, "the row"."id" LIMIT' in made.sql


def test_an_answer_has_a_bound_whatever_is_asked_for():
    assert compiled("").limit == ROWS_MAX
    assert compiled("limit=1000000").limit == ROWS_MAX
    assert compiled("limit=3&offset=6").parameters == (3, 6)


def test_embedded_rows_have_a_bound_that_shrinks_where_they_multiply():
    query = "select=things(id,boxes(things(id)))"
    outer, inner, _ = EMBEDDED_ROWS_MAX
    assert compiled(query, BOXES).parameters == (inner, 0, 1, 0, outer, 0, ROWS_MAX, 0)
    assert compiled(query + "&things.limit=99999&things.boxes.things.limit=2", BOXES).parameters == (
        *(2, 0, 1, 0),
        *(outer, 0, ROWS_MAX, 0),
    )


def test_a_count_shares_the_filters_parameters():
    made = compiled("name=eq.x", count=True)
    assert made.sql.count("$1") == 2
    assert "count(*)" in made.sql
    assert made.parameters == ("x", ROWS_MAX, 0)


def test_what_only_may_be_seen_is_a_condition_on_every_way_to_a_relation():
    sight = Sight(SIGHT.relations, {"things": {"id": UUID}})
    assert '("the row"."id" = $1::text::uuid) AND ("the row"."name" = $2' in compiled("name=eq.x", sight=sight).sql
    assert (
        compiled("or=(name.eq.x,size.gt.1)", sight=sight, count=True).sql.count('"the row"."id" = $1::text::uuid') == 2
    )
    embedded = compiled("select=things!inner(id)", BOXES, sight)
    assert embedded.sql.count('"row 1"."box_id" = "the row"."id" AND ("row 1"."id" = $1::text::uuid)') == 2
    assert UUID in embedded.parameters


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("nope=eq.1", "42703"),
        ("select=nope", "42703"),
        ("order=nope", "42703"),
        ("or=(nope.eq.1)", "42703"),
        ("select=boxes(nope)", "42703"),
        ("select=boxes(*)&boxes.nope=eq.1", "42703"),
        ("select=boxes()&boxes.nope=eq.1", "42703"),
        ("select=boxes(*)&order=boxes(nope)", "42703"),
        ("select=id,count", "42703"),
        ("id=eq.x", "22P02"),
        (f"id=in.({UUID},x)", "22P02"),
        ("size=eq.1.5", "22P02"),
        ("size=eq.", "22P02"),
        ("size=eq.9999999999", "22003"),
        ("seq=eq." + "9" * 30, "22003"),
        ("seq=eq." + "9" * 5000, "22P02"),
        ("on=eq.maybe", "22P02"),
        ("on=is.null&size=is.true", "42804"),
        ("data->a=is.true", "42804"),
        ("id=like.a*", "42883"),
        ("name=cs.{a}", "42883"),
        ("tags=in.(a)", "42883"),
        ("name->a=eq.1", "42883"),
        ("select=name->>a", "42883"),
        ("select=id::money", "42704"),
        ("select=id::int", "42846"),
        ("select=at::jsonb", "42846"),
        ("select=count()&order=id", "42803"),
        ("select=*,others(*)", "PGRST200"),
        ("select=*,secrets(*)", "PGRST200"),
        ("select=*,boxes!size(*)", "PGRST200"),
        ("select=*,boxes(secrets(*))", "PGRST200"),
        ("select=*&order=boxes(label)", "PGRST108"),
        ("select=*,boxes(*)&boxes=eq.1", "PGRST120"),
        ("select=*,boxes(*)&or=(boxes.is.true,size.eq.1)", "PGRST120"),
    ],
)
def test_what_the_relation_does_not_have_is_refused(query, code):
    with pytest.raises(ApiError) as caught:
        compiled(query)
    assert (caught.value.status, caught.value.code) == (400, code)


def test_an_order_by_many_rows_is_refused():
    with pytest.raises(ApiError) as caught:
        compiled("select=*,things(*)&order=things(name)", BOXES)
    assert caught.value.code == "PGRST118"


@pytest.mark.req("SE-05")
def test_a_caller_may_be_held_to_shallow_embeds():
    shallow = Sight(SIGHT.relations, depth_max=1)
    assert compiled("select=*,boxes(*)", sight=shallow)
    for deep in ("select=*,boxes(*,things(*))", "select=*,boxes(things())", "select=boxes(things!inner(id))"):
        assert compiled(deep), "others may"
        with pytest.raises(ApiError) as caught:
            compiled(deep, sight=shallow)
        assert (caught.value.status, caught.value.code) == (400, "54001")


def test_an_unknown_relationship_is_told_with_those_that_the_caller_may_see():
    with pytest.raises(ApiError) as caught:
        compiled("select=*,crates(*)")
    assert caught.value.hint == "'things' can embed boxes."
    with pytest.raises(ApiError) as caught:
        compiled("select=*,boxes(*)", sight=Sight())
    assert caught.value.hint == "'things' can embed nothing."


@pytest.mark.parametrize("hint", ["box_id", "things_box_id_fkey", "boxes"])
def test_a_hint_may_name_the_relationship(hint):
    compiled(f"select=*,boxes!{hint}!inner(*)")


def test_relations_that_do_not_fit_are_found():
    check_relations({"things": THINGS, "boxes": BOXES, "secrets": SECRETS})
    with pytest.raises(AssertionError, match="there is no secrets"):
        check_relations({"things": THINGS, "boxes": BOXES})
    bad = Relation(
        "bad", "rm", {"a": PgType.TEXT}, "test", relationships={"b": Relationship("bad", "to-one", "a", "a")}
    )
    check_relations({"bad": bad})
    bad = Relation(
        "bad",
        "rm",
        {"a": PgType.TEXT, "c": PgType.UUID},
        "test",
        relationships={"b": Relationship("bad", "to-one", "a", "c")},
    )
    with pytest.raises(AssertionError, match="types"):
        check_relations({"bad": bad})
