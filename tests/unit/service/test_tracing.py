"""W3C trace context: what is adopted, what is replaced."""

from __future__ import annotations

import asyncio

import pytest

from drover.service.tracing import Trace, begin, current, new_trace, parse

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN_ID = "00f067aa0ba902b7"
HEADER = f"00-{TRACE_ID}-{SPAN_ID}-01"


def began(header: str | None) -> Trace:
    begin(header)
    trace = current()
    assert trace is not None
    return trace


async def test_tasks_of_one_request_share_its_trace():
    async def look() -> Trace | None:
        return current()

    begin(None)
    first, second = await asyncio.gather(look(), look())
    assert first is not None
    assert first is second


def test_a_callers_trace_goes_on_with_a_span_of_our_own():
    trace = began(HEADER)
    assert trace.trace_id == TRACE_ID
    assert trace.span_id != SPAN_ID
    assert current() is trace


def test_a_header_survives_the_round_trip():
    assert str(parse(HEADER)) == HEADER
    assert parse(str(new_trace())) is not None


def test_a_later_version_may_carry_more():
    assert parse(f"01-{TRACE_ID}-{SPAN_ID}-01-more") is not None


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nonsense",
        HEADER.upper(),
        HEADER + "-more",
        HEADER + "\n",
        f"ff-{TRACE_ID}-{SPAN_ID}-01",
        f"00-{'0' * 32}-{SPAN_ID}-01",
        f"00-{TRACE_ID}-{'0' * 16}-01",
        f"00-{TRACE_ID[:-1]}-{SPAN_ID}-01",
    ],
)
def test_an_invalid_header_begins_a_new_trace(header):
    assert parse(header) is None
    assert began(header).trace_id != TRACE_ID


def test_children_differ_in_their_span_only():
    parent = new_trace()
    child = parent.child()
    assert (child.trace_id, child.flags) == (parent.trace_id, parent.flags)
    assert child.span_id != parent.span_id
