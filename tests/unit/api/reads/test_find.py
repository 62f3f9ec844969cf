"""What a few letters may mean: ids and numbers first, then names."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.unit.api.reads.desk import NOW, Row

JOB = UUID(int=7, version=4)
pytestmark = pytest.mark.req("EV-05")


def render(number: int, name: str = "Lower third") -> Row:
    return Row(id=number, composition_name=name, status="completed", created_at=NOW)


async def test_a_number_is_that_of_a_render_with_or_without_its_sign(desk):
    for q in ("41", "%2341"):
        desk.pool.asked.clear()
        desk.pool.rows = {"WHERE id = $1": [render(41)]}
        status, found = await desk.ask(f"/api/find?q={q}")
        assert (status, [one["id"] for one in found["renders"]]) == (200, [41])
        assert (41,) in [values for _, values in desk.pool.asked]


async def test_a_render_that_is_found_twice_is_shown_once_and_the_exact_one_first(desk):
    desk.pool.rows = {
        "WHERE id = $1": [render(7)],
        "lower(composition_name) ~>=~": [render(9), render(7)],
        "position($1 IN lower(name))": [render(9), render(11)],
    }
    _, found = await desk.ask("/api/find?q=7")
    assert [one["id"] for one in found["renders"]] == [7, 9, 11]


async def test_an_id_of_a_job_finds_it_before_those_whose_title_begins_so(desk):
    desk.pool.rows = {"WHERE id = $1": [Row(id=JOB, title="Launch", status="completed", created_at=NOW)]}
    _, found = await desk.ask(f"/api/find?q={JOB}")
    assert [one["title"] for one in found["jobs"]] == ["Launch"]


async def test_letters_are_compared_without_case_and_types_of_events_by_any_part(desk):
    _, found = await desk.ask("/api/find?q=%20PAUSED%20")
    assert "JobPaused" in found["event_types"]
    assert ("paused", "paused\U0010ffff") in [values for _, values in desk.pool.asked]


async def test_an_empty_question_finds_nothing_and_asks_nobody(desk):
    for path in ("/api/find", "/api/find?q=%20"):
        desk.pool.asked.clear()
        status, found = await desk.ask(path)
        assert (status, set(map(len, found.values()))) == (200, {0})
        assert desk.pool.asked == []


async def test_a_question_that_is_too_long_is_400(desk):
    status, body = await desk.ask(f"/api/find?q={'x' * 101}")
    assert (status, body["details"]["field"]) == (400, "q")
