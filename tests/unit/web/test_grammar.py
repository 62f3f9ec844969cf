"""The PostgREST grammar: what is understood, and that all else is PGRST100."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.web.errors import ApiError
from drover.web.postgrest.ast import Column, Embed, Filter, Junction, Order, Query, Star
from drover.web.postgrest.grammar import FILTERS_MAX, IN_VALUES_MAX, parse_query, split_parameters


def parse(query_string: str) -> Query:
    return parse_query(split_parameters(query_string))


def test_nothing_asked_is_everything():
    assert parse("") == Query()


@pytest.mark.parametrize(
    ("text", "select"),
    [
        ("*", (Star(),)),
        ("", (Star(),)),
        ("id,status", (Column("id"), Column("status"))),
        ("serial:serial_number, id", (Column("serial_number", "serial"), Column("id"))),
        ("*,jobs(*)", (Star(), Embed("jobs", (Star(),)))),
        ("j:jobs!inner(id,x(y))", (Embed("jobs", (Column("id"), Embed("x", (Column("y"),))), "j", True),)),
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
        "select=a->b",
        "select=a::int",
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


@given(st.text(alphabet='abn.,()"\\*:!-_01{} eqiorstdnul%&=', max_size=80))
def test_no_text_gets_more_than_a_refusal(text):
    for key in ("select", "order", "or", "limit", "a"):
        try:
            parse_query([(key, text)])
        except ApiError as error:
            assert error.status in (400, 416)  # noqa: PT017
