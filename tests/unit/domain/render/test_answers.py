"""What the caller of a recorded command is told comes from its events alone, so that a repeat is told the same."""

from datetime import date

import pytest

from drover.domain.decider import Rejection
from drover.domain.render import RENDER
from drover.domain.render import commands as c
from drover.domain.render.events import CompositionDescribed, FieldMapped
from drover.eventlog.codec import Codec
from tests.unit.domain.render.world import (
    CHIPS,
    DAY,
    ENDED_STATES,
    HAND,
    W1,
    W2,
    WORKING_STATES,
    Hand,
    at,
    queue,
    request,
    requested,
    uid,
)

DESCRIBED = CompositionDescribed(CHIPS, "Chips", "x.aep", "M", 1)
MAPPED = FieldMapped(
    mapping_id=1,
    composition_id=CHIPS,
    field_name="Single - x",
    layer_name="X",
    kind="data",
    property="Source Text",
    version=2,
)


def told_to(events, command):
    """As a repeat is told: from what stands in the log."""
    scenario = queue(*events).after(seconds=3).when(command)
    codec = Codec.of(RENDER)
    first = RENDER.answer(scenario.decision.events)
    assert RENDER.answer(codec.decode(codec.encode(scenario.decision.events))) == first
    return first


@pytest.mark.req("RN-02", "RN-18")
def test_a_requested_render_is_told_as_its_row_begins():
    assert told_to([], request(cue_item_id="cue-1", broadcast_date=date(2026, 3, 5))) == {
        "id": 1,
        "composition_id": CHIPS,
        "composition": CHIPS,
        "cue_item_id": "cue-1",
        "broadcast_date": date(2026, 3, 5),
        "status": "pending",
        "progress": 0,
        "recovery_count": 0,
        "created_at": at(seconds=3),
        "updated_at": at(seconds=3),
    }


@pytest.mark.req("RN-04")
def test_a_claim_is_told_with_its_run_and_lease():
    until = at(minutes=30, seconds=3)
    row = {"id": 1, "status": "preparing", "worker_id": W1, "lock_expires_at": until, "updated_at": at(seconds=3)}
    lease = {"render_id": 1, "lease_until": until, "lease_s": 1800} | row
    assert told_to([requested()], c.Claim(W1)) == {"run": 1, "resumed": False} | lease
    assert told_to(WORKING_STATES["rendering"], c.Claim(W1)) == {"run": 2, "resumed": True} | lease


@pytest.mark.req("RN-04")
def test_a_renewal_is_told_until_when():
    until = at(minutes=30, seconds=3)
    told = {"lease_until": until, "lease_s": 1800, "lock_expires_at": until}
    assert told_to(WORKING_STATES["rendering"], HAND.renews()) == told


def test_a_fault_is_told_what_follows_from_it():
    assert told_to(WORKING_STATES["uploading"], HAND.fails("NAS_AWAY")) == {
        "again": "step",
        "number": 1,
        "due_at": at(seconds=33),
        "delay_s": 30,
    }
    assert told_to(WORKING_STATES["rendering"], HAND.fails("RENDER_LOST"))["again"] == "render"
    assert told_to(WORKING_STATES["rendering"], HAND.fails("RENDER_ERROR"))["again"] is None


@pytest.mark.req("RN-21")
@pytest.mark.parametrize(
    ("command", "count"), [(c.ReleaseRender(1), 1), (HAND.hands_back(), 0), (HAND.fails("RENDER_LOST"), 0)]
)
def test_what_is_pending_again_is_told_as_nobodys(command, count):
    assert told_to(WORKING_STATES["rendering"], command) == {
        "again": "render",
        "id": 1,
        "status": "pending",
        "recovery_count": count,
        "worker_id": None,
        "lock_expires_at": None,
        "updated_at": at(seconds=3),
    }


@pytest.mark.req("RN-02")
@pytest.mark.parametrize(
    ("command", "status"),
    [(c.CancelRender(1), "cancelled"), (HAND.completes(), "completed"), (HAND.fails("RENDER_ERROR"), "failed")],
)
def test_an_end_is_told_by_its_status(command, status):
    told = told_to(WORKING_STATES["uploading"], command)
    duration_s = told.pop("duration_seconds", None)
    assert told == {"again": None, "id": 1, "status": status, "updated_at": at(seconds=3)}
    assert (duration_s is not None) is (status == "completed")


def test_a_stop_is_told_whole():
    assert told_to(ENDED_STATES["cancelled"], c.ClaimStop(W1)) == {
        "render_id": 1,
        "uid": uid(),
        "composition": "_MAIN Mini Chip Count",
        "broadcast_date": DAY,
        "discard": True,
        "nexrender_job_id": "nx-1",
    }


def test_a_mapping_and_a_composition_are_told_as_their_rows():
    row = {
        "id": 1,
        "composition_id": CHIPS,
        "field_name": "Single - x",
        "layer_name": "X",
        "kind": "data",
        "property": "Source Text",
        "updated_at": at(seconds=3),
    }
    assert told_to([], c.MapField(composition_id=CHIPS, field_name="Single - x", layer_name="X")) == row
    assert told_to([DESCRIBED, MAPPED], c.ChangeField(1, layer_name="Y")) == row | {"layer_name": "Y"}
    assert told_to([DESCRIBED], c.DescribeComposition(CHIPS, name="New")) == {
        "id": CHIPS,
        "name": "New",
        "template": "x.aep",
        "output_module": "M",
        "updated_at": at(seconds=3),
    }


@pytest.mark.parametrize(
    ("events", "command"),
    [
        (WORKING_STATES["preparing"], HAND.submits()),
        (WORKING_STATES["rendering"], HAND.progresses(50)),
        (WORKING_STATES["rendering"], HAND.progresses(50, "encoding")),
        (WORKING_STATES["rendering"], HAND.has_rendered()),
        (WORKING_STATES["rendering"], HAND.misses("x")),
        (ENDED_STATES["cancelled"], c.ReportStopped(1, uid(), W1)),
        ([DESCRIBED, MAPPED], c.UnmapField(1)),
        ([DESCRIBED, MAPPED], c.RemoveComposition(CHIPS)),
    ],
)
def test_the_rest_needs_no_answer(events, command):
    assert told_to(events, command) is None


@pytest.mark.req("RN-22")
def test_a_recorded_refusal_is_told_again_from_its_events():
    told = told_to([*WORKING_STATES["rendering"], Hand(1, 2, W2).claimed()], HAND.completes())
    assert isinstance(told, Rejection)
    assert told.code == "STALE_ATTEMPT"
    assert told.message == "Run 1 of render 1 is over: it is preparing, at run 2"
    assert told.details == {"render_id": 1, "run": 1, "current_run": 2, "status": "preparing"}
