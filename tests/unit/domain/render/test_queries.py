"""What workers ask is answered from live state, without an event."""

import pytest

from drover.domain.errors import Code
from drover.domain.render.commands import GetComposition, GetRender, GetRuns
from drover.domain.render.events import CompositionDescribed, FieldMapped, RenderProgressed
from tests.unit.domain.render.world import (
    CHIPS,
    DAY,
    ENDED_STATES,
    HAND,
    SEALED,
    W1,
    WORKING_STATES,
    Hand,
    answered,
    at,
    frozen,
    queue,
    requested,
    uid,
)


@pytest.mark.req("RN-18", "RN-22")
def test_all_that_a_worker_needs_of_a_render():
    described = CompositionDescribed(CHIPS, "_MAIN Mini Chip Count", "x.aep", "", 4)
    scenario = queue(described, *WORKING_STATES["rendering"], RenderProgressed(1, 1, W1, 45))
    scenario.given(HAND.retry("NEXRENDER_DOWN", 1, at(seconds=60))).when(GetRender(1)).then_nothing()
    assert answered(scenario) == {
        "render_id": 1,
        "status": "rendering",
        "run": 1,
        "generation": 1,
        "worker_id": W1,
        "composition_id": CHIPS,
        "composition": "_MAIN Mini Chip Count",
        "gfx_id": "gfx-1",
        "gfx_data": SEALED,
        "broadcast_date": DAY,
        "uid": uid(),
        "nexrender_job_id": "nx-1",
        "progress": 45,
        "retry_due": at(seconds=60),
        "mapping_version": 4,
    }


def test_a_render_that_is_not_here_is_not_found():
    queue(requested()).when(GetRender(2)).then_rejected(Code.NOT_FOUND, render_id=2)


def test_a_composition_that_nobody_described_has_version_nought():
    queue(requested()).when(GetRender(1)).then_answers(mapping_version=0)


@pytest.mark.req("RN-22")
def test_how_renders_stand_is_told_of_those_that_are_here():
    scenario = queue(*ENDED_STATES["failed"], requested(2), requested(3), *Hand(3).preparing())
    scenario.when(GetRuns([3, 1, 2, 4, 3])).then_nothing()
    assert answered(scenario) == {
        "1": {"status": "failed", "run": 1, "uid": uid(1)},
        "2": {"status": "pending", "run": 0, "uid": uid(2)},
        "3": {"status": "preparing", "run": 1, "uid": uid(3)},
    }


@pytest.mark.req("RN-06", "RN-13")
def test_a_composition_is_told_with_its_fields():
    scenario = queue(
        CompositionDescribed(CHIPS, "Chips", "x.aep", "Lossless", 1),
        FieldMapped(
            mapping_id=1,
            composition_id=CHIPS,
            field_name="Slot 1 - name",
            layer_name="Name 1",
            kind="data",
            property="Source Text",
            version=2,
        ),
        FieldMapped(
            mapping_id=2,
            composition_id=CHIPS,
            field_name="Flag 1",
            layer_name="Flag A",
            kind="image",
            property="Source",
            version=3,
        ),
    )
    assert answered(scenario.when(GetComposition(CHIPS)).then_nothing()) == {
        "composition_id": CHIPS,
        "name": "Chips",
        "template": "x.aep",
        "output_module": "Lossless",
        "version": 3,
        "fields": {
            "Slot 1 - name": {"layer_name": "Name 1", "kind": "data", "property": "Source Text"},
            "Flag 1": {"layer_name": "Flag A", "kind": "image", "property": "Source"},
        },
    }


@pytest.mark.req("RN-07")
def test_one_that_nobody_described_has_no_template_no_fields_and_the_output_module_of_003():
    scenario = queue().when(GetComposition(CHIPS))
    assert answered(scenario) == {
        "composition_id": CHIPS,
        "name": "",
        "template": "",
        "output_module": "H.264 - Match Render Settings - 15 Mbps",
        "version": 0,
        "fields": {},
    }


def test_asking_changes_nothing():
    scenario = queue(*WORKING_STATES["rendering"])
    before = frozen(scenario)
    for question in (GetRender(1), GetRender(9), GetRuns([1, 9]), GetComposition(CHIPS)):
        scenario.when(question)
    assert frozen(scenario) == before
