"""Statements of lists: put together from fixed pieces, paged by key, every value in its place."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.api.reads.alerts import ALERTS
from drover.api.reads.analyses import ANALYSES, CLEANUP_RUN_TESTS, CLEANUP_RUNS, LEDGER
from drover.api.reads.assignments import ASSIGNMENTS, ATTEMPTS
from drover.api.reads.cursors import read_cursor, write_cursor
from drover.api.reads.devices import DEVICES
from drover.api.reads.event_types import ALL, EVERYDAY
from drover.api.reads.events import EVENTS
from drover.api.reads.jobs import JOBS
from drover.api.reads.listing import Listing, Statement
from drover.api.reads.parameters import Asked, Kind
from drover.api.reads.pcs import PCS
from drover.api.reads.reminders import REMINDER_EVENTS, REMINDERS
from drover.api.reads.renders import RENDERS
from drover.api.reads.united import United
from drover.domain.contexts import CONTEXTS
from drover.web.errors import ApiError

LISTS = (
    PCS, DEVICES, JOBS, ASSIGNMENTS, ATTEMPTS, RENDERS, ANALYSES, CLEANUP_RUNS, CLEANUP_RUN_TESTS, LEDGER, REMINDERS,
    REMINDER_EVENTS, ALERTS, EVENTS,
)  # fmt: skip
AT = datetime(2026, 3, 1, tzinfo=UTC)
ID = UUID(int=7)
pytestmark = pytest.mark.req("EV-05")


def statement(listing, asked: Asked, contexts=CONTEXTS) -> Statement:
    return listing.statement(contexts, asked) if isinstance(listing, United) else listing.statement(asked)


def value_of(listing, kind: Kind, draw):
    """Something that the parameter could be."""
    type_ = kind.described.type
    words = getattr(type_, "__args__", None)
    name = kind.name
    if name == "limit":
        return draw(st.integers(1, 500))
    if name == "cursor":
        return write_cursor(listing.name, _some_key(listing))
    if words and isinstance(words[0], str):
        if kind.described.many:
            return tuple(draw(st.lists(st.sampled_from(words), min_size=1, max_size=8, unique=True)))
        return draw(st.sampled_from(words))
    if kind.described.many:
        return ("one", "two")
    return {"open": True, "from": AT, "to": AT, "broadcast_date": AT.date()}.get(
        name, ID if name.endswith("_id") else "x"
    )


def _some_key(listing):
    by_type = {datetime: AT, UUID: ID, int: 3, str: "x"}
    types = listing._types if isinstance(listing, United) else [part.type for part in listing._key]
    return [by_type[type_] for type_ in types]


@given(st.sampled_from(LISTS), st.data())
def test_every_value_has_its_place_and_no_condition_asks_whether_a_parameter_is_there(listing, data):
    kinds = data.draw(st.lists(st.sampled_from(listing.kinds), unique_by=lambda kind: kind.name))
    asked = Asked({kind.name: value_of(listing, kind, data.draw) for kind in kinds})
    contexts = tuple(data.draw(st.lists(st.sampled_from(CONTEXTS), unique=True, min_size=1)))
    sql, values = statement(listing, asked, contexts)
    places = {int(number) for number in re.findall(r"\$(\d+)", sql)}
    assert places == set(range(1, len(values) + 1))
    assert not re.search(r"\$\d+(::\w+)? IS (NOT )?NULL", sql)
    assert "OFFSET" not in sql
    assert "{" not in sql and "}" not in sql


@pytest.mark.parametrize("listing", LISTS, ids=lambda listing: listing.name)
def test_no_text_of_a_client_becomes_sql(listing):
    evil = "x'; DROP TABLE devices; --"
    for kind in listing.kinds:
        if kind.name == "cursor":
            continue
        try:
            value = kind.read(evil)
        except ApiError:
            continue
        sql, values = statement(listing, Asked({kind.name: value}))
        assert "DROP" not in sql
        assert any("DROP" in str(given) for given in values)


def test_the_limit_is_a_number_of_ours_so_that_a_plan_for_any_value_knows_it():
    for asked, fetched in ((None, 101), (1, 26), (25, 26), (26, 101), (100, 101), (101, 501), (500, 501)):
        sql, values = DEVICES.statement(Asked({"limit": asked}))
        assert f"LIMIT {fetched}\n" in sql and values == []


def test_several_states_are_looked_up_one_by_one_and_merged():
    sql, values = JOBS.statement(Asked({"status": ("created", "paused")}))
    assert sql.count("UNION ALL") == 1 and values == ["created", "paused"]
    assert "j.status = $1" in sql and "j.status = $2" in sql


def test_a_cursor_goes_on_after_the_last_row_in_either_direction():
    cursor = write_cursor("jobs", [AT, ID])
    newest, values = JOBS.statement(Asked({"cursor": cursor}))
    assert "(j.created_at, j.id) < ($1::timestamptz, $2::uuid)" in newest and values == [AT, ID]
    oldest, _ = JOBS.statement(Asked({"cursor": cursor, "order": "oldest"}))
    assert "(j.created_at, j.id) > ($1::timestamptz, $2::uuid)" in oldest
    assert "ORDER BY j.created_at ASC, j.id ASC" in oldest


def test_a_search_by_type_asks_only_contexts_that_have_it():
    sql, _ = EVENTS.statement(CONTEXTS, Asked({"type": ("RenderClaimed",)}))
    assert "rm_render.events" in sql and "rm_fleet.events" not in sql
    assert set(ALL) >= {"JobCreated", "RenderClaimed", "TestStarted"}


@pytest.mark.parametrize(
    ("asked", "indices"),
    [
        ({"entity": "x"}, {"e.entities[1]", "e.entities[2]", "e.entities[3]", "e.entities[4]"}),
        ({"actor": "clock"}, {"e.by"}),
        ({"actor": "clock", "type": ("AttemptCreated",)}, {"e.type"}),
        ({"actor": "user:x", "type": ("AttemptCreated",)}, {"e.type", "e.by"}),
        ({"entity": "x", "type": ("AttemptSent",), "actor": "anon"}, {f"e.entities[{n}]" for n in range(1, 5)}),
        ({"entity": "x", "type": ("JobPaused",)}, {"e.type", *(f"e.entities[{n}]" for n in range(1, 5))}),
    ],
)
def test_what_everybody_does_all_day_is_not_looked_up_by_an_index_where_something_else_is(asked, indices):
    sql, _ = EVENTS.statement(["fleet"], Asked(asked))
    assert set(re.findall(r"hashtextextended\((e\.[^,]+), 0\) =", sql)) == indices
    assert set(ALL) >= EVERYDAY


@given(st.lists(st.sampled_from([AT, ID, 7, "한글", "a,b\"'"]), min_size=1, max_size=4))
def test_a_cursor_says_the_same_after_its_way_to_a_client_and_back(key):
    text = write_cursor("jobs", key)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", text)
    assert read_cursor("jobs", text, [type(value) for value in key]) == key


@given(st.one_of(st.text(max_size=80), st.binary(max_size=60).map(lambda raw: raw.hex())))
def test_what_is_no_cursor_is_400(text):
    with pytest.raises(ApiError) as error:
        read_cursor("jobs", text, [datetime, UUID])
    assert error.value.status == 400


def test_the_cursor_of_another_list_is_refused():
    with pytest.raises(ApiError):
        read_cursor("jobs", write_cursor("renders", [AT, ID]), [datetime, UUID])
    with pytest.raises(ApiError):
        read_cursor("jobs", write_cursor("jobs", [AT]), [datetime, UUID])


def test_each_list_has_its_own_cursors():
    assert len({listing.name for listing in LISTS}) == len(LISTS)
    assert all(isinstance(listing, Listing | United) for listing in LISTS)
