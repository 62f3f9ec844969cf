"""Which bytes a player asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.api.films.ranges import Span, Unsatisfiable, wanted

pytestmark = pytest.mark.req("EV-05")


@pytest.mark.parametrize(
    ("header", "span"),
    [
        ("bytes=0-", Span(0, 100)),
        ("bytes=0-0", Span(0, 1)),
        ("bytes=10-19", Span(10, 20)),
        ("bytes=90-1000", Span(90, 100)),
        ("bytes=-10", Span(90, 100)),
        ("bytes=-1000", Span(0, 100)),
    ],
)
def test_a_range_is_as_long_as_the_file_lets_it_be(header, span):
    assert wanted(header, 100) == span


@pytest.mark.parametrize(
    "header", [None, "", "bytes", "bytes=-", "bytes=5-4", "bytes=0-1,5-6", "lines=0-1", "bytes=a-b"]
)
def test_what_makes_no_sense_gets_the_whole_file(header):
    assert wanted(header, 100) is None


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=100-200", "bytes=-0"])
def test_what_begins_after_the_end_cannot_be_had(header):
    with pytest.raises(Unsatisfiable):
        wanted(header, 100)


@given(st.text(alphabet="bytes=-,0123456789 ", max_size=40), st.integers(0, 10**6))
def test_whatever_is_asked_for_lies_within_the_file(header, size_bytes):
    try:
        span = wanted(header, size_bytes)
    except Unsatisfiable:
        return
    assert span is None or 0 <= span.start < span.end <= size_bytes
