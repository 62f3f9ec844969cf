"""Which relations are live, and by which keys."""

from __future__ import annotations

import re
from uuid import UUID

import pytest

from drover.domain.contexts import REGISTRY
from drover.readmodel.models import LIVE, LIVE_CONTEXTS, READ_MODELS, RELATIONS


def test_rows_that_are_rows_of_a_table_are_live_and_aggregates_are_not():
    assert {"devices", "jobs", "tasks", "tasks_event", "render_queue", "alarm", "alerts", "workers"} <= LIVE.keys()
    assert {"pcs", "pc_device_summary", "render_figures", "render_stages", "render_workers", "events"}.isdisjoint(LIVE)
    assert LIVE.keys() <= RELATIONS.keys()


def test_nothing_of_a_private_context_is_live():
    private = {context.name for context in REGISTRY.values() if context.is_private}
    assert private.isdisjoint(LIVE_CONTEXTS)
    assert all(live.context not in private for many in LIVE.values() for live in many)
    assert [model.live for model in READ_MODELS if model.context in private] == [()]


@pytest.mark.parametrize("name", sorted(LIVE))
def test_a_live_relation_shows_its_key_and_has_all_columns_of_a_read(name):
    for live in LIVE[name]:
        assert {*live.key, *live.withheld} <= RELATIONS[name].columns.keys()
        assert len([*live.select_items()]) == len(RELATIONS[name].columns)
        assert not {*live.key} & {*live.withheld}


def test_sealed_columns_and_users_own_words_are_withheld():
    withheld = {name: many[0].withheld for name, many in LIVE.items() if many[0].withheld}
    assert withheld == {"render_queue": ("gfx_data", "gfx_data_error"), "alarm": ("title", "body")}


def test_a_key_is_told_as_the_row_shows_it():
    device = UUID("018f2b5e-0000-7000-8000-00000000000a")
    (devices,), (alarm,) = LIVE["devices"], LIVE["alarm"]
    assert devices.told_key(device) == devices.told_key(str(device).upper()) == [str(device)]
    assert alarm.told_key(("user", "page")) == ["user", "page"]
    assert [live.told_key("a-1") for live in LIVE["alerts"]] == [[context, "a-1"] for context in LIVE_CONTEXTS]


def test_a_cleanup_changes_with_each_test_that_it_finds():
    (runs,) = LIVE["cleanup_runs"]
    (found,) = LIVE["cleanup_run_tests"]
    record = tuple(f"a {name}" for name in found.table.columns)
    assert runs.tables == ("run_rows", "cleanup_run_tests")
    assert runs.part_key_of("cleanup_run_tests")(record) == "a run_id"


@pytest.mark.parametrize("model", READ_MODELS, ids=lambda model: model.context)
def test_a_computed_column_that_looks_at_another_table_names_it_as_a_part(model):
    tables = {table.name for table in model.tables}
    for live in model.live:
        words = {word for column in live.relation.shape for word in re.findall(r"\w+", column.sql or "")}
        assert words & tables <= {*live.tables}, f"{live.name}: its readers would miss changes"
