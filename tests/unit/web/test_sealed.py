"""Sealed columns of an answer: found wherever a select puts them, opened, or excused."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from drover.domain.errors import DroverError
from drover.readmodel.column import PgType
from drover.readmodel.relation import Relation, Relationship, check_relations
from drover.web.errors import ApiError
from drover.web.postgrest import sealed
from drover.web.postgrest.compile import compile_query
from drover.web.postgrest.grammar import parse_query
from drover.web.postgrest.sealed import Open, open_answer, plan_opening
from drover.web.postgrest.sight import Sight

LETTERS = Relation(
    "letters",
    "rm_x",
    {"id": PgType.INTEGER, "text": PgType.TEXT, "text_error": PgType.TEXT, "box_id": PgType.INTEGER},
    "x",
    relationships={"boxes": Relationship("boxes", "to-one", "box_id", "id")},
    sealed={"text": "text_error"},
)
BOXES = Relation(
    "boxes",
    "rm_x",
    {"id": PgType.INTEGER, "letter_id": PgType.INTEGER},
    "x",
    relationships={
        "letters": Relationship("letters", "to-many", "id", "box_id"),
        "letter": Relationship("letters", "to-one", "letter_id", "id"),
    },
)
SIGHT = Sight({"letters": LETTERS, "boxes": BOXES})


class Torn(DroverError):
    pass


async def unseal(texts: Sequence[str]) -> Open:
    def open_(relation: str, column: str, text: str) -> bytes:
        assert (relation, column) == ("letters", "text")
        assert text in texts, "its key was fetched"
        if text == "torn":
            raise Torn("it is torn")
        return msgspec.json.encode({"said": text})

    return open_


async def opened(relation: Relation, select: str, rows: object) -> object:
    plan = plan_opening(relation, parse_query([("select", select)]), SIGHT)
    assert plan is not None
    return msgspec.json.decode(await open_answer(msgspec.json.encode(rows).decode(), plan, unseal))


async def test_a_star_shows_it_opened_and_leaves_the_rest_as_it_is() -> None:
    rows = [{"id": 1, "text": "hello", "text_error": None, "box_id": 12345678901234567890}]
    assert await opened(LETTERS, "*", rows) == [rows[0] | {"text": {"said": "hello"}}]


async def test_it_is_found_by_its_alias() -> None:
    assert await opened(LETTERS, "id,letter:text", [{"id": 1, "letter": "a"}]) == [{"id": 1, "letter": {"said": "a"}}]


async def test_what_cannot_be_opened_is_null_and_the_row_says_why_where_it_was_asked_to() -> None:
    rows = [{"text": "torn", "why": None}, {"text": "whole", "why": None}, {"text": None, "why": None}]
    assert await opened(LETTERS, "text,why:text_error", rows) == [
        {"text": None, "why": "it is torn"},
        {"text": {"said": "whole"}, "why": None},
        {"text": None, "why": None},
    ]
    assert await opened(LETTERS, "text", [{"text": "torn"}]) == [{"text": None}]


async def test_it_is_opened_in_what_is_embedded_one_or_many() -> None:
    rows = [
        {"id": 1, "mail": [{"text": "a"}, {"text": "torn"}], "letter": {"text": "b"}},
        {"id": 2, "mail": [], "letter": None},
    ]
    assert await opened(BOXES, "id,mail:letters(text),letter(text)", rows) == [
        {"id": 1, "mail": [{"text": {"said": "a"}}, {"text": None}], "letter": {"text": {"said": "b"}}},
        {"id": 2, "mail": [], "letter": None},
    ]
    deep = [{"boxes": {"letter": {"text": "a"}}}]
    assert await opened(LETTERS, "boxes(letter(text))", deep) == [{"boxes": {"letter": {"text": {"said": "a"}}}}]


async def test_a_large_answer_is_opened_too() -> None:
    rows = [{"text": "x" * 100} for _ in range(2000)]
    assert await opened(LETTERS, "text", rows) == [{"text": {"said": "x" * 100}}] * 2000


@pytest.mark.parametrize("select", ["id", "text_error", "boxes(id)", "count()"])
def test_where_nothing_sealed_is_asked_for_nothing_is_opened(select: str) -> None:
    assert plan_opening(LETTERS, parse_query([("select", select)]), SIGHT) is None


@pytest.mark.parametrize(
    "parameter",
    [
        ("text", "eq.a"),
        ("text_error", "is.null"),
        ("or", "(id.eq.1,not.and(text.like.a*,id.eq.2))"),
        ("order", "text.desc"),
        ("select", "text->a"),
        ("select", "text::text"),
        ("select", "text_error::text"),
    ],
)
def test_the_database_is_never_asked_about_it(parameter: tuple[str, str]) -> None:
    with pytest.raises(ApiError) as caught:
        compile_query(LETTERS, parse_query([parameter]), sight=SIGHT)
    assert (caught.value.status, caught.value.code) == (400, "PGRST127")


@pytest.mark.parametrize("parameter", [("letters.text", "eq.a"), ("order", "letter(text)"), ("letters.order", "text")])
def test_nor_by_way_of_another_relation(parameter: tuple[str, str]) -> None:
    with pytest.raises(ApiError) as caught:
        compile_query(BOXES, parse_query([("select", "letters(id),letter(id)"), parameter]), sight=SIGHT)
    assert caught.value.code == "PGRST127"


def test_an_answer_in_which_something_is_opened_may_be_less_large() -> None:
    compiled = compile_query(LETTERS, parse_query([]), bytes_max=sealed.ANSWER_BYTES_MAX)
    assert f"<= {sealed.ANSWER_BYTES_MAX} " in compiled.sql


def test_a_sealed_column_must_be_there_with_the_one_that_excuses_it() -> None:
    check_relations({"letters": LETTERS, "boxes": BOXES})
    broken = Relation("letters", "rm_x", {"id": PgType.INTEGER, "text": PgType.TEXT}, "x", sealed={"text": "nowhere"})
    with pytest.raises(AssertionError):
        check_relations({"letters": broken})
