"""Headers of a read: profile, media type, ranges, preferences."""

from __future__ import annotations

import json

import pytest

from drover.web.errors import ApiError
from drover.web.idempotency import command_id
from drover.web.postgrest.ast import Query
from drover.web.postgrest.prefer import Preferences, parse_prefer
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


def test_unknown_preferences_matter_only_when_handling_is_strict():
    assert parse_prefer(["tx=rollback"]) == Preferences()
    with pytest.raises(ApiError) as caught:
        parse_prefer(["handling=strict, tx=rollback"])
    assert caught.value.code == "PGRST122"


def test_the_same_idempotency_key_means_the_same_command_for_one_principal_and_route_only():
    ids = {
        command_id("k", principal=principal, route=route, body=b"1").split("~")[0]
        for principal in ("anon", "service_role")
        for route in ("POST devices", "POST pcs")
    }
    assert len(ids) == 4
    first = command_id("k", principal="anon", route="r", body=b"1")
    assert first == command_id("k", principal="anon", route="r", body=b"1")
    other = command_id("k", principal="anon", route="r", body=b"2")
    assert first.split("~")[0] == other.split("~")[0]
    assert first != other
    assert command_id(None, principal="anon", route="r", body=b"") != command_id(
        None, principal="anon", route="r", body=b""
    )


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "é"])
def test_a_bad_idempotency_key_is_a_validation_error(key):
    with pytest.raises(ApiError) as caught:
        command_id(key, principal="anon", route="r", body=b"")
    assert (caught.value.status, caught.value.details["field"]) == (400, "Idempotency-Key")
