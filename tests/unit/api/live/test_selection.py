"""Which events a client is told of, and how lines of the log become them."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from drover.api.live.record import UNREADABLE, Record, recorded
from drover.api.live.selection import Selection
from drover.eventlog.log import StoredCommit
from tests.unit.api.live.writing import line_of


def record(type_="JobCreated", **fields):
    return Record(0, type_, line_of(1, type_, **fields))


def test_without_a_filter_every_event_is_wanted():
    assert Selection()(record())


@pytest.mark.parametrize(
    ("types", "wanted"),
    [
        (["JobCreated"], {"JobCreated"}),
        (["JobCreated", "AttemptSent"], {"JobCreated", "AttemptSent"}),
        (["Attempt*"], {"AttemptSent", "AttemptFailed"}),
        (["jobcreated"], set()),
        (["*"], {"JobCreated", "AttemptSent", "AttemptFailed"}),
    ],
)
def test_by_type(types, wanted):
    all_types = ("JobCreated", "AttemptSent", "AttemptFailed")
    selection = Selection(types)
    assert {type_ for type_ in all_types if selection(record(type_))} == wanted
    assert {type_ for type_ in all_types if selection(record(type_))} == wanted, "the second time, from memory"


def test_by_an_id_in_any_field_of_the_event_itself():
    selection = Selection(entity="d-1")
    assert selection(record(device_id="d-1"))
    assert selection(record(target={"device_ids": ["d-0", "d-1"]}))
    assert selection(record(subject="d-1"))
    assert not selection(record(device_id="d-10"))
    assert not selection(record(message="about d-1"))
    assert not selection(record(**{"d-1": "a name is no value"}))


def test_who_did_it_and_why_is_not_what_it_is_about():
    for envelope in ("by", "cause", "trace"):
        assert not Selection(entity="d-1")(record(**{envelope: "d-1"}))


def test_an_id_with_letters_that_json_writes_differently_is_found_as_well():
    for entity in ('with "quotes"', "back\\slash", "tab\t", "한글"):
        assert Selection(entity=entity)(record(device_id=entity))


def test_all_filters_must_hold():
    selection = Selection(["JobPaused"], "j-1")
    assert selection(record("JobPaused", job_id="j-1"))
    assert not selection(record("JobPaused", job_id="j-2"))
    assert not selection(record("JobCreated", job_id="j-1"))


def stored(*lines: bytes):
    return StoredCommit(7, "c", 1, datetime.now(UTC), b"\n".join(lines) + b"\n")


def test_a_commit_is_its_lines_untouched():
    lines = (line_of(1, "JobCreated"), line_of(2, "TypeOfTheFuture", new={"deep": 1}))
    commit = recorded(stored(*lines))
    assert [(found.line, found.type, found.raw) for found in commit.records] == [
        (0, "JobCreated", lines[0]),
        (1, "TypeOfTheFuture", lines[1]),
    ]
    assert (commit.seq, commit.last_line) == (7, 1)


@pytest.mark.parametrize(
    "line",
    [b"", b"no json", b"[]", b"{}", b'{"type":1}', b"\xff", msgspec.json.encode({"type": "bye\ndata: forged"})],
)
def test_a_line_that_is_no_event_is_told_as_such_and_breaks_nothing(line):
    (found,) = recorded(stored(line)).records
    assert (found.type, found.raw) == (UNREADABLE, line)
    assert not Selection(entity="d-1")(Record(0, UNREADABLE, b'"d-1"'))


def test_fields_that_nobody_is_told_are_left_out_and_all_else_is_untouched():
    told, silent = line_of(1, "AlarmSent", page_id="p"), line_of(2, "AlarmRegistered", page_id="p", title="secret")
    commit = recorded(stored(told, silent, b"\xff secret"), untold=frozenset({"title"}))
    assert commit.records[0].raw == told
    assert msgspec.json.decode(commit.records[1].raw)["page_id"] == "p"
    assert not any(b"secret" in found.raw for found in commit.records)
