"""What a request for a stream asks for."""

from __future__ import annotations

import pytest
from multidict import MultiDict

from drover.api.live.place import Place
from drover.api.live.query import read_wish
from drover.web.errors import ApiError

SERVED = ["fleet", "render"]


def wish(headers=None, *query):
    return read_wish(headers or {}, MultiDict(query), SERVED)


def test_without_a_word_it_is_everything_from_now_on():
    assert wish().contexts == ("fleet", "render")
    assert wish().after == {}


def test_contexts_come_in_one_order_whatever_order_they_are_asked_in():
    assert wish({}, ("context", "render,fleet")).contexts == ("fleet", "render")
    assert wish({}, ("context", "render")).contexts == ("render",)


def test_the_header_is_newer_than_the_address():
    asked = wish({"Last-Event-ID": "fleet=2.0"}, ("last_event_id", "fleet=1.0"))
    assert (asked.after, asked.after_field) == ({"fleet": Place(2, 0)}, "Last-Event-ID")
    asked = wish({"Last-Event-ID": ""}, ("last_event_id", "fleet=1.0"))
    assert (asked.after, asked.after_field) == ({"fleet": Place(1, 0)}, "last_event_id")


def test_the_place_in_a_context_that_is_not_asked_for_does_not_matter():
    assert wish({"Last-Event-ID": "fleet=2.0,render=3.0"}, ("context", "render")).after == {"render": Place(3, 0)}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("type", "Job Created"),
        ("type", ""),
        ("type", "JobCreated,"),
        ("type", "x" * 65),
        ("type", ",".join(["JobCreated"] * 65)),
        ("entity", ""),
        ("entity", "x" * 201),
        ("context", "nope"),
        ("context", ""),
        ("last_event_id", "12"),
        ("last_event_id", "nope=1.0"),
        ("last_event_id", ""),
        ("apikey", "a-key"),
        ("types", "JobCreated"),
    ],
)
def test_a_slip_is_refused_with_its_field(field, value):
    with pytest.raises(ApiError) as caught:
        wish({}, (field, value))
    assert caught.value.status == 400
    assert caught.value.details["field"] == field
    assert field in caught.value.message


@pytest.mark.parametrize("field", ["entity", "last_event_id"])
def test_what_can_be_said_once_is_refused_twice(field):
    with pytest.raises(ApiError):
        wish({}, (field, "fleet=1.0"), (field, "fleet=2.0"))


def test_a_bad_header_is_named_as_such():
    with pytest.raises(ApiError) as caught:
        wish({"Last-Event-ID": "x" * 10_000})
    assert caught.value.details == {"field": "Last-Event-ID", "value": "x" * 200}
