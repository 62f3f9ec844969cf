"""The PostgREST grammar: what is understood, and that all else is PGRST100."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.web.errors import ApiError
from drover.web.postgrest.ast import Column, Count, Embed, Filter, Item, Junction, Order, Path, Query, Star
from drover.web.postgrest.cursor import IN_VALUES_MAX
from drover.web.postgrest.filters import FILTERS_MAX
from drover.web.postgrest.grammar import parse_filter, parse_query, split_parameters


def parse(query_string: str) -> Query:
    return parse_query(split_parameters(query_string))


def embed(relation: str, *select: Item, alias: str | None = None, **options: object) -> Embed:
    query = {key: options.pop(key) for key in ("where", "order", "limit", "offset") if key in options}
    return Embed(relation, Query(select=select, **query), alias, **options)


def test_nothing_asked_is_everything():
    assert parse("") == Query()


@pytest.mark.parametrize(
    ("text", "select"),
    [
        ("*", (Star(),)),
        ("", (Star(),)),
        ("id,status", (Column("id"), Column("status"))),
        ("serial:serial_number, id", (Column("serial_number", "serial"), Column("id"))),
        ("*,jobs(*)", (Star(), embed("jobs", Star()))),
        ("j:jobs!inner(id,x(y))", (embed("jobs", Column("id"), embed("x", Column("y")), alias="j", inner=True),)),
        ("jobs!job_id!left(id)", (embed("jobs", Column("id"), hint="job_id"),)),
        ("*, jobs!inner()", (Star(), embed("jobs", inner=True))),
        ("count()", (Count(),)),
        ("n:count()", (Count("n"),)),
        ("jobs(count())", (embed("jobs", Count()),)),
        ("count", (Column("count"),)),
        ("data->a", (Column("data", "a", Path(("a",))),)),
        ("data->a->0->>b", (Column("data", "b", Path(("a", "0", "b"), text=True)),)),
        ("data->tags->-1", (Column("data", "tags", Path(("tags", "-1"))),)),
        ("data->0", (Column("data", "data", Path(("0",))),)),
        ('x:data->>"a b.c"', (Column("data", "x", Path(("a b.c",), text=True)),)),
        ("id::text", (Column("id", cast="text"),)),
        ("n:data->>size::int,id", (Column("data", "n", Path(("size",), text=True), "int"), Column("id"))),
    ],
)
def test_select(text, select):
    assert parse_query([("select", text)]).select == select


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("status=eq.online", Filter("status", "eq", "online")),
        ("status=not.eq.online", Filter("status", "eq", "online", negated=True)),
        ("name=eq.a,b(c).%22d%22", Filter("name", "eq", 'a,b(c)."d"')),
        ("name=eq.", Filter("name", "eq", "")),
        ("name=like.A*", Filter("name", "like", "A*")),
        ("id=in.(1,2)", Filter("id", "in", ("1", "2"))),
        ('id=in.("a,b","c\\"d","e\\\\f",g h)', Filter("id", "in", ("a,b", 'c"d', "e\\f", "g h"))),
        ("id=in.()", Filter("id", "in", ())),
        ("seen=is.null", Filter("seen", "is", "null")),
        ("seen=not.is.NULL", Filter("seen", "is", "null", negated=True)),
        ("caps=cs.{a,b}", Filter("caps", "cs", "{a,b}")),
        ("or=(a.eq.1,b.gt.2)", Junction("or", (Filter("a", "eq", "1"), Filter("b", "gt", "2")))),
        (
            'or=(a.not.in.(1,2),and(b.is.null,not.or(c.eq."x,)",d.cs.{y,z})))',
            Junction(
                "or",
                (
                    Filter("a", "in", ("1", "2"), negated=True),
                    Junction(
                        "and",
                        (
                            Filter("b", "is", "null"),
                            Junction("or", (Filter("c", "eq", "x,)"), Filter("d", "cs", "{y,z}")), negated=True),
                        ),
                    ),
                ),
            ),
        ),
        ("data->>a=eq.1", Filter("data", "eq", "1", path=Path(("a",), text=True))),
        ("data->a->0=not.is.null", Filter("data", "is", "null", negated=True, path=Path(("a", "0")))),
        ('data->>"a.b"=eq.1', Filter("data", "eq", "1", path=Path(("a.b",), text=True))),
        ("or=(data->a->>b.eq.1)", Junction("or", (Filter("data", "eq", "1", path=Path(("a", "b"), text=True)),))),
        ("not.and=(a.eq.1)", Junction("and", (Filter("a", "eq", "1"),), negated=True)),
    ],
)
def test_filters(query, where):
    assert parse(query).where == (where,)


def test_repeated_keys_are_all_kept():
    assert parse("n=gt.1&n=lt.5").where == (Filter("n", "gt", "1"), Filter("n", "lt", "5"))


def test_order_limit_and_offset():
    query = parse("order=a.desc.nullslast,b,c.asc,d.nullsfirst&limit=10&offset=20")
    assert query.order == (Order("a", True, "last"), Order("b"), Order("c"), Order("d", False, "first"))
    assert (query.limit, query.offset) == (10, 20)


def test_an_order_by_a_json_value_and_by_a_column_of_an_embed():
    assert parse("order=data->>a.desc, jobs(created_at).desc.nullsfirst,b").order == (
        Order("data", True, path=Path(("a",), text=True)),
        Order("created_at", True, "first", embed="jobs"),
        Order("b"),
    )


def test_filters_order_and_limit_of_an_embed_are_its_own():
    query = parse(
        "select=*,jobs(*,videos(id))&jobs.status=eq.x&jobs.or=(a.eq.1,b.eq.2)&jobs.not.and=(c.is.null)&status=eq.y"
        "&jobs.order=at.desc&jobs.limit=5&jobs.offset=2&jobs.videos.data->>a=eq.1&jobs.videos.limit=1&limit=3"
    )
    videos = embed("videos", Column("id"), where=(Filter("data", "eq", "1", path=Path(("a",), text=True)),), limit=1)
    jobs = embed(
        "jobs",
        Star(),
        videos,
        where=(
            Filter("status", "eq", "x"),
            Junction("or", (Filter("a", "eq", "1"), Filter("b", "eq", "2"))),
            Junction("and", (Filter("c", "is", "null"),), negated=True),
        ),
        order=(Order("at", True),),
        limit=5,
        offset=2,
    )
    assert query == Query((Star(), jobs), (Filter("status", "eq", "y"),), limit=3)


def test_an_embed_is_called_by_its_alias_or_by_its_relation_and_the_order_of_parameters_does_not_matter():
    narrowed = embed("jobs", Star(), alias="j", where=(Filter("a", "eq", "1"),))
    assert parse("j.a=eq.1&select=j:jobs(*)").select == (narrowed,)
    assert parse("select=j:jobs(*)&jobs.a=eq.1").select == (narrowed,)
    both = parse("select=jobs:old_jobs(*),j:jobs(*)&jobs.a=eq.1").select
    assert [len(one.query.where) for one in both] == [1, 0], "an alias comes first"


@pytest.mark.parametrize("query", ["jobs.a=eq.1", "select=jobs(*)&videos.a=eq.1", "select=jobs(*)&jobs.videos.limit=1"])
def test_a_filter_on_what_is_not_embedded_is_told(query):
    with pytest.raises(ApiError) as caught:
        parse(query)
    assert (caught.value.status, caught.value.code) == (400, "PGRST108")
    assert "select" in caught.value.hint


@pytest.mark.parametrize("select", ["...jobs(*)", "size.sum()", "id.count()", "status,count()", "jobs(id,count())"])
def test_what_postgrest_can_do_and_this_cannot_is_told(select):
    with pytest.raises(ApiError) as caught:
        parse_query([("select", select)])
    assert (caught.value.status, caught.value.code) == (400, "PGRST127")
    assert caught.value.details


@pytest.mark.parametrize("column", ["data->>a", "jobs.id", "a b", ""])
def test_a_filter_by_a_plain_column_takes_nothing_else(column):
    with pytest.raises(ApiError) as caught:
        parse_filter(column, "eq.1")
    assert caught.value.code == "PGRST100"


@pytest.mark.parametrize(
    "query",
    [
        "status=online",
        "status=",
        "status=foo.bar",
        "status=eq",
        "a%20b=eq.1",
        "1=eq.1",
        'x";drop=eq.1',
        "id=in.1,2",
        "id=in.(1,2",
        'id=in.("1)',
        "id=in.(1,2)x",
        "seen=is.maybe",
        "or=a.eq.1",
        "or=(a.eq.1",
        "or=()",
        "or=(a.eq.1))",
        "or=" + "(and" * 20,
        "or=(a.eq.1,and(" + "and(" * 9 + "b.eq.1" + ")" * 11,
        "order=a.sideways",
        "order=a;b",
        "order=",
        "order=" + ",".join("abcdefghijk"),
        "select=a->",
        "select=a->>b->c",
        'select=a->"b c"',
        'select=a->"b',
        "select=a->b c",
        "select=" + "a" + "->b" * 20,
        "select=a::",
        "select=a::int::text",
        "select=a.b",
        "select=a!inner",
        "select=a!(b)",
        "select=a(b(c(d(e))))",
        "select=" + ",".join(f"a{n}(*)" for n in range(9)),
        "select=a(" + ",".join(f"b{n}(*)" for n in range(8)) + ")",
        "a->b->>c->d=eq.1",
        "a->>b.c=eq.1",
        "order=jobs(a",
        "order=jobs(a.desc)",
        "order=a.desc.asc",
        "select=a(",
        "select=a,,b",
        "select=" + "a(" * 50,
        "select=" + ",".join(["a"] * 100),
        "limit=ten",
        "limit=99999999999",
        "limit=%EF%BC%91",
        "status=eq.%00",
        "status=eq.%FF",
        "&".join(f"a{n}=eq.1" for n in range(100)),
        "or=(" + ",".join(["a.eq.1"] * (FILTERS_MAX + 1)) + ")",
        "and=(" + ",".join(["a.eq.1"] * 40) + ")&or=(" + ",".join(["a.eq.1"] * 40) + ")",
        "id=in.(" + ",".join(["1"] * (IN_VALUES_MAX + 1)) + ")",
        "a=eq." + "x" * 20_000,
    ],
)
def test_what_is_not_in_the_grammar_is_refused(query):
    with pytest.raises(ApiError) as caught:
        parse(query)
    assert (caught.value.status, caught.value.code) == (400, "PGRST100")


def test_negative_rows_are_out_of_range():
    with pytest.raises(ApiError) as caught:
        parse("limit=-1")
    assert (caught.value.status, caught.value.code) == (416, "PGRST103")


@given(st.text(alphabet='abn.,()"\\*:!->_01{} eqiorstdnul%&=', max_size=80))
def test_no_text_gets_more_than_a_refusal(text):
    for key in ("select", "order", "or", "limit", "a", "j.a", "j.or", "j.order", text):
        try:
            parse_query([("select", "*,j(*)"), (key, text)])
        except ApiError as error:
            assert error.status in (400, 416)  # noqa: PT017
