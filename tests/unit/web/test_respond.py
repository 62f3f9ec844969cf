"""Headers of a read: profile, media type, ranges, preferences."""

from __future__ import annotations

import json

import pytest

from drover.web.errors import ApiError
from drover.web.postgrest.ast import Query
from drover.web.postgrest.prefer import Preferences, check_affected, parse_prefer
from drover.web.postgrest.respond import Page, apply_range, check_profile, choose_media, respond

TWO = '[{"id":1}, \n {"id":2}]'


@pytest.mark.parametrize(
    ("page", "status", "content_range"),
    [
        (Page(TWO, 2, 0), 200, "0-1/*"),
        (Page(TWO, 2, 10), 200, "10-11/*"),
        (Page("[]", 0, 0), 200, "*/*"),
        (Page(TWO, 2, 0, 2), 200, "0-1/2"),
        (Page(TWO, 2, 4, 9), 206, "4-5/9"),
        (Page("[]", 0, 0, 0), 200, "*/0"),
    ],
)
def test_status_and_content_range(page, status, content_range):
    response = respond(page, "array", Preferences())
    assert (response.status, response.headers["Content-Range"]) == (status, content_range)


def test_an_offset_beyond_the_total_is_416():
    with pytest.raises(ApiError) as caught:
        respond(Page("[]", 0, 10, 3), "array", Preferences())
    assert (caught.value.status, caught.value.code) == (416, "PGRST103")


def test_a_single_object_is_the_row_itself():
    response = respond(Page('[{"id":1}]', 1, 0), "object", Preferences())
    assert json.loads(response.text) == {"id": 1}
    assert response.content_type == "application/vnd.pgrst.object+json"


@pytest.mark.parametrize(("page", "rows"), [(Page("[]", 0, 0), 0), (Page(TWO, 2, 0), 2)])
def test_a_single_object_that_is_none_or_many_is_406(page, rows):
    with pytest.raises(ApiError) as caught:
        respond(page, "object", Preferences())
    assert (caught.value.status, caught.value.code) == (406, "PGRST116")
    assert caught.value.details == f"The result contains {rows} rows"


@pytest.mark.parametrize(
    ("header", "limit", "offset"),
    [("0-24", 25, 0), ("items=5-9", 5, 5), ("10-", None, 10), ("nonsense", None, 0), ("bytes=0-1,3-4", None, 0)],
)
def test_the_range_header(header, limit, offset):
    query = apply_range(Query(), {"Range": header})
    assert (query.limit, query.offset) == (limit, offset)


def test_limit_and_offset_win_over_the_range_header():
    assert apply_range(Query(limit=3), {"Range": "5-9"}) == Query(limit=3)


def test_a_range_that_ends_before_it_begins_is_416():
    with pytest.raises(ApiError) as caught:
        apply_range(Query(), {"Range": "9-5"})
    assert caught.value.status == 416


def test_media_types():
    assert choose_media({}) == "array"
    assert choose_media({"Accept": "application/json; charset=utf-8"}) == "array"
    assert choose_media({"Accept": "application/vnd.pgrst.object+json"}) == "object"
    with pytest.raises(ApiError) as caught:
        choose_media({"Accept": "text/csv"})
    assert (caught.value.status, caught.value.code) == (406, "PGRST107")


def test_only_the_public_schema_is_known():
    check_profile({"Accept-Profile": "public"}, "Accept-Profile")
    with pytest.raises(ApiError) as caught:
        check_profile({"Accept-Profile": "rm_fleet"}, "Accept-Profile")
    assert (caught.value.status, caught.value.code) == (406, "PGRST106")


def test_preferences_in_one_header_or_several():
    preferences = parse_prefer(["return=representation, count=exact", "missing=default", "resolution=merge-duplicates"])
    assert preferences.representation
    assert preferences.count
    assert preferences.applied == "return=representation, count=exact, missing=default"
    assert preferences.resolution == "merge-duplicates"


def test_a_resolution_is_applied_only_where_a_write_says_so():
    preferences = parse_prefer(["resolution=ignore-duplicates", "return=minimal"])
    assert (preferences.resolution, preferences.applied) == ("ignore-duplicates", "return=minimal")
    assert preferences.resolving().applied == "return=minimal, resolution=ignore-duplicates"
    assert parse_prefer(["resolution=merge-duplicates"]).resolving().applied == "resolution=merge-duplicates"
    assert parse_prefer(["resolution=guess"]).resolving() == Preferences()


def test_a_bound_on_affected_rows_counts_when_handling_is_strict():
    assert parse_prefer(["max-affected=2"]) == Preferences()
    preferences = parse_prefer(["handling=strict, max-affected=2"])
    assert (preferences.affected_max, preferences.applied) == (2, "handling=strict, max-affected=2")
    check_affected(preferences, 2)
    check_affected(Preferences(), 1000)
    with pytest.raises(ApiError) as caught:
        check_affected(preferences, 3)
    assert (caught.value.status, caught.value.code) == (400, "PGRST124")


@pytest.mark.parametrize("value", ["-1", "x", "", "٣", "9" * 5000])
def test_a_bound_on_affected_rows_is_a_number(value):
    with pytest.raises(ApiError) as caught:
        parse_prefer([f"handling=strict, max-affected={value}"])
    assert caught.value.code == "PGRST122"


def test_unknown_preferences_matter_only_when_handling_is_strict():
    assert parse_prefer(["tx=rollback"]) == Preferences()
    with pytest.raises(ApiError) as caught:
        parse_prefer(["handling=strict, tx=rollback"])
    assert caught.value.code == "PGRST122"
