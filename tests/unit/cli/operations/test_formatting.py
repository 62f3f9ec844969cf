"""How times, ids and tables look in a terminal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import click
import pytest

from drover.cli.commands.alerts import NOTE_CHARS_MAX as NOTE_HELP
from drover.cli.commands.jobs import PRIORITY_MAX as PRIORITY_HELP
from drover.cli.commands.jobs import SCRIPTS
from drover.cli.operations import statuses
from drover.cli.operations.formatting import ago, pairs, short_ids, table
from drover.cli.operations.jobs import ENDED, target_words
from drover.cli.operations.names import at_local_times, ids_in, named
from drover.cli.operations.renders import gfx_data
from drover.cli.operations.why import EXPLAINED
from drover.cli.output import console
from drover.domain.alert_handling import NOTE_CHARS_MAX
from drover.domain.analysis.state import TestStatus
from drover.domain.fleet.job_spec import SCRIPT_TYPES
from drover.domain.fleet.policy import PRIORITY_MAX
from drover.domain.fleet.state import AssignmentStatus, DeviceStatus, JobStatus
from drover.domain.render.mapping_spec import Kind as LayerKind
from drover.domain.render.state import ENDED as RENDERS_ENDED
from drover.domain.render.state import Status

NOW = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)


def shown(renderable, columns=80):
    screen = console()
    screen.width = columns
    with screen.capture() as captured:
        screen.print(renderable)
    return captured.get().splitlines()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "now"), (1, "1 s ago"), (59, "59 s ago"), (60, "1 min ago"), (7_199, "1 h ago"), (200_000, "2 d ago")],
)
def test_a_time_is_told_from_now_and_from_then(seconds, words):
    assert ago((NOW - timedelta(seconds=seconds)).isoformat(), NOW) == words
    future = ago((NOW + timedelta(seconds=seconds)).isoformat(), NOW)
    assert future == (words if not seconds else f"in {words.removesuffix(' ago')}")


def test_short_ids_differ_from_each_other_and_are_beginnings():
    ids = [
        "0199a1b2-4c3d-7000-8000-000000000001",
        "0199a1b2-4c3d-7000-8000-000000000002",
        "0199a1b2-4c3e-7000-8000-000000000001",
    ]
    short = short_ids(ids)
    assert short[ids[2]] == "0199a1b2-4c3e"
    assert len(set(short.values())) == 3
    assert all(id_.startswith(beginning) for id_, beginning in short.items())
    assert [sum(id_.startswith(beginning) for id_ in ids) for beginning in short.values()] == [1, 1, 1]


def test_only_the_marked_column_is_cut_where_the_terminal_is_narrow():
    lines = shown(table(("id", "title*", "created"), [("0199a1b2-4c3d", "A title that is long", "3 min ago")]), 36)
    assert lines[0].split() == ["id", "title", "created"]
    assert lines[1].startswith("0199a1b2-4c3d  A title")
    assert "…" in lines[1]
    assert lines[1].rstrip().endswith("3 min ago")
    assert len(lines) == 2


def test_a_text_of_an_agent_cannot_control_the_terminal():
    for made in (table(("a*",), [("\x1b[2Jgone",)]), pairs(("a", "\x1b[2Jgone"))):
        assert "\x1b[2J" not in "\n".join(shown(made))
    assert "–" in shown(table(("a",), [(None,)]))[1]


def test_sentences_have_names_and_local_times():
    id_ = "0199a1b2-4c3d-7000-8000-000000000001"
    sentence = f"Job {id_} is due at 2026-01-31T07:59:00Z."
    assert ids_in(sentence) == {id_}
    told = at_local_times(named(sentence, {id_: "“Launch”"}), NOW)
    assert told.startswith("Job “Launch” is due at ")
    assert told.endswith("(1 min ago).")
    assert named(sentence, {}) == sentence


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (None, "all phones"),
        ({"group_id": "P1-G1", "count": None}, "group P1-G1"),
        ({"pc_id": "PC-01", "count": 1}, "at most 1 phone, PC PC-01"),
        ({"device_ids": ["a", "b"]}, "2 named phones"),
    ],
)
def test_a_target_is_told_in_words(target, words):
    assert target_words(target) == words


def test_fields_are_drawn_by_their_names_in_the_mapping():
    known = '{"slots": [{"slot_number": 2, "fields": {"name": "Lee"}}], "single_fields": {"title": "Old"}}'
    named = ("Slot 2 - stack=5", "Slot 1 - name=Kim=1", "Single - title=New", "Flag - live=1", "table=7")
    assert gfx_data(known, named) == {
        "slots": [
            {"slot_number": 1, "fields": {"name": "Kim=1"}},
            {"slot_number": 2, "fields": {"name": "Lee", "stack": "5"}},
        ],
        "single_fields": {"title": "New", "table": "7"},
        "flags": {"live": "1"},
    }
    assert gfx_data('{"slots": 7}', ()) == {"slots": 7}, "the platform says what is wrong with it"
    with pytest.raises(click.UsageError, match="another form"):
        gfx_data('{"slots": [7]}', ("a=b",))


def test_the_states_of_options_are_those_of_the_domain():
    assert set(statuses.JOBS) == set(JobStatus)
    assert set(statuses.JOBS) - set(statuses.JOBS_OPEN) == set(ENDED)
    assert set(statuses.ASSIGNMENTS) == set(AssignmentStatus)
    assert set(statuses.DEVICES) == set(DeviceStatus)
    assert set(statuses.RENDERS) == set(Status)
    assert set(statuses.RENDERS) - set(statuses.RENDERS_OPEN) == set(RENDERS_ENDED)
    assert set(statuses.TESTS) == set(TestStatus)
    assert get_args(LayerKind) == statuses.LAYER_KINDS
    assert tuple(EXPLAINED) == statuses.WHY_KINDS


def test_the_bounds_of_options_are_those_of_the_domain():
    assert (PRIORITY_HELP, NOTE_HELP, SCRIPTS) == (PRIORITY_MAX, NOTE_CHARS_MAX, SCRIPT_TYPES)
