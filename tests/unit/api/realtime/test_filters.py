"""Filters by the types of columns, compared as SQL does."""

from __future__ import annotations

import msgspec
import pytest

from drover.api.realtime.filters import BadFilter, comparable, parse_filter
from drover.api.realtime.limits import CONDITIONS_MAX, IN_VALUES_MAX
from drover.readmodel.column import PgType
from drover.readmodel.live import LiveRelation
from drover.readmodel.models import LIVE

ID = "018f2b5e-0000-7000-8000-00000000000a"
ROW = {
    "id": ID,
    "error_message": "SERIAL01",
    "status": "running",
    "progress_pct": 40,
    "did_like": False,
    "assigned_at": "2026-03-01T10:00:00.5+00:00",
    "error_code": None,
}


def holds(text: str, row=ROW, relation: str = "job_assignments") -> bool:
    conditions = parse_filter(text, LIVE[relation][0])
    return all(one.holds(comparable(row.get(one.column), one.type)) for one in conditions)


@pytest.mark.req("DI-08")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"id=eq.{ID}", True),
        (f"id=eq.{ID.upper()}", True),
        (f"id=neq.{ID}", False),
        (f"id=in.({ID},00000000-0000-0000-0000-000000000000)", True),
        ("error_message=eq.SERIAL01", True),
        ('error_message=eq."SERIAL01"', True),
        ("error_message=gt.SERIAL00", True),
        ("error_message=in.(A,SERIAL01)", True),
        ('error_message=in.("SERIAL01,x", "A\\"B")', False),
        ("error_message=not.in.(A,B)", True),
        ("progress_pct=eq.40", True),
        ("progress_pct=neq.41", True),
        ("progress_pct=lt.40", False),
        ("progress_pct=lte.40", True),
        ("progress_pct=gt.9", True),
        ("progress_pct=gte.41", False),
        ("progress_pct=not.eq.40", False),
        ("did_like=eq.false", True),
        ("did_like=eq.t", False),
        ("did_like=is.false", True),
        ("assigned_at=gt.2026-03-01T10:00:00Z", True),
        ("assigned_at=lt.2026-03-01T19:00:00+09:00", False),
        ("assigned_at=eq.2026-03-01T10:00:00.500Z", True),
        ("assigned_at=gt.2026-03-01", True),
        ("error_code=is.null", True),
        ("error_code=not.is.null", False),
        ("error_code=eq.X", False),
        ("error_code=neq.X", False),
        ("error_code=not.eq.X", False),
        ("error_code=isdistinct.X", True),
        ("error_message=like.SERIAL%", True),
        ("error_message=like.%RIAL__", True),
        ("error_message=like.%E%A%1", True),
        ("error_message=like.serial%", False),
        ("error_message=ilike.serial%", True),
        ("error_message=not.ilike.%ERIAL%", False),
        ("error_code=like.%", False),
        ("progress_pct=gt.30,status=eq.running", True),
        ("progress_pct=gt.30,status=eq.failed", False),
        ("status=eq.a,b", False),
        ("", True),
    ],
)
def test_a_row_is_compared_by_the_type_of_its_column(text, expected):
    assert holds(text) is expected


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("", "", True),
        ("", "a", False),
        ("%", "", True),
        ("a", "ab", False),
        ("a%", "ba", False),
        ("%a", "ab", False),
        ("a%a", "a", False),
        ("a%a", "aa", True),
        ("%ab%ab%", "abab", True),
        ("%ab%ab%", "abxb", False),
        ("%aba%a", "abaa", True),
        ("%aba%ba", "ababa", True),
        ("%aba%aba", "ababa", False),
        ("_", "", False),
        ("_%_", "ab", True),
        ("_%_", "a", False),
        ("a_c", "a\nc", True),
        ("100\\%", "100%", True),
        ("100\\%", "1000", False),
        ("a\\_c", "abc", False),
        (".*", "x", False),
        ("a\\", "a\\", True),
    ],
)
def test_a_pattern_means_what_it_means_in_sql(pattern, value, expected):
    assert holds(f"error_message=like.{pattern}", {"error_message": value}) is expected


def test_a_pattern_with_many_wildcards_is_compared_in_no_time():
    assert not holds("error_message=like." + "%a" * 120 + "%b", {"error_message": "a" * 50_000})


def test_dates_and_fractions_are_compared_as_such():
    assert holds("broadcast_date=lt.2026-10-01", {"broadcast_date": "2026-03-01"}, "render_queue")
    assert holds("base_reward=gte.0.5", {"base_reward": 0.5}, "jobs")
    assert holds("base_reward=gt.0.5", {"base_reward": 1}, "jobs")
    assert holds("output_size_bytes=gt.9", {"output_size_bytes": 9007199254740993}, "render_queue")


@pytest.mark.req("DI-19")
@pytest.mark.parametrize("cue", [7, "7"])
def test_a_number_or_text_is_compared_by_its_text(cue):
    assert holds("cue_item_id=eq.7", {"cue_item_id": cue}, "render_queue")
    assert holds("cue_item_id=in.(7,8)", {"cue_item_id": cue}, "render_queue")
    assert not holds("cue_item_id=eq.8", {"cue_item_id": cue}, "render_queue")
    assert not holds("cue_item_id=eq.7", {"cue_item_id": None}, "render_queue")


def test_decimals_are_exact_and_what_cannot_be_compared_is_refused():
    (jobs,) = LIVE["jobs"]
    relation = msgspec.structs.replace(jobs.relation, columns={"price": PgType.NUMERIC})
    priced = LiveRelation(relation=relation, context="fleet", table=jobs.table, parts={})
    (condition,) = parse_filter("price=eq.0.1", priced)
    assert condition.holds(comparable(0.1, PgType.NUMERIC))
    with pytest.raises(BadFilter):
        parse_filter("price=lt.NaN", priced)


def test_a_comma_belongs_to_the_value_unless_a_condition_follows():
    assert holds("status=eq.a,b", {"status": "a,b"})


def test_other_words_for_a_value_are_those_of_reads():
    assert holds("status=eq.completed", {"status": "success"}, "tasks")
    assert holds("status=in.(completed,failed)", {"status": "success"}, "tasks")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nothing", "column=op.value"),
        ("nothing=eq.1", "no column nothing"),
        ("progress_pct=eq.many", "progress_pct, which is int4"),
        ("id=eq.1", "id, which is uuid"),
        ("assigned_at=gt.yesterday", "which is timestamptz"),
        ("did_like=eq.maybe", "which is bool"),
        ("progress_pct=match.4", "operator match is not known"),
        ("progress_pct=like.4%", "like compares text, and progress_pct is int4"),
        ("error_message=like." + "x" * 300, "pattern is longer"),
        ("progress_pct=in.4", "in parentheses"),
        ("error_code=is.X", "is takes"),
        (",".join(["progress_pct=gt.1"] * (CONDITIONS_MAX + 1)), f"more than {CONDITIONS_MAX}"),
        (f"progress_pct=in.({','.join(map(str, range(IN_VALUES_MAX + 1)))})", f"at most {IN_VALUES_MAX}"),
        ("error_message=eq." + "x" * 9_000, "longer"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_with_the_reason(text, why):
    with pytest.raises(BadFilter, match=why):
        parse_filter(text, LIVE["job_assignments"][0])


def test_a_column_that_is_withheld_cannot_be_filtered_as_its_value_could_be_found_by_trying():
    with pytest.raises(BadFilter, match="cannot be filtered"):
        parse_filter("title=eq.Secret", LIVE["alarm"][0])
    with pytest.raises(BadFilter, match="cannot be filtered"):
        parse_filter("gfx_data=eq.x", LIVE["render_queue"][0])


def test_a_list_of_many_spaces_is_read_in_no_time():
    with pytest.raises(BadFilter):
        parse_filter("progress_pct=in.(" + "a " * 3_500 + ")", LIVE["job_assignments"][0])
