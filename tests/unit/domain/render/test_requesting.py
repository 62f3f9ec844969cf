"""A render is requested: it has a number, a day, a name for nexrender, and waits for a worker."""

from datetime import UTC, date, datetime

import pytest

from drover.domain.errors import Code
from drover.domain.event import TermStarted
from drover.domain.render import RENDER
from drover.domain.render.events import CompositionDescribed, CompositionRemoved, FieldMapped, RenderRequested
from drover.domain.render.policy import OPEN_RENDERS_MAX
from drover.domain.render.state import Status
from drover.testing.scenario import Scenario
from tests.unit.domain.render.world import CHIPS, DAY, HAND, SEALED, W1, queue, queue_of, render_of, request, told, uid


@pytest.mark.req("RN-02", "RN-18")
def test_a_render_is_requested_with_all_that_was_said_of_it():
    scenario = queue().when(
        request(composition="_MAIN Clock", cue_item_id="cue-7", broadcast_date=date(2026, 4, 1), gfx_id="gfx-9")
    )
    scenario.then(
        RenderRequested(
            render_id=1,
            composition_id=CHIPS,
            composition="_MAIN Clock",
            gfx_id="gfx-9",
            gfx_data=SEALED,
            cue_item_id="cue-7",
            broadcast_date=date(2026, 4, 1),
            uid=uid(1),
        ),
    )


@pytest.mark.req("RN-01")
def test_it_is_pending_and_nobodys():
    render = render_of(queue().when(request()))
    assert render.status is Status.PENDING
    assert (render.worker_id, render.lease_until, render.nexrender_job_id, render.started_at) == (None,) * 4
    assert (render.progress, render.recovery_count, render.run, render.generation) == (0, 0, 0, 1)
    assert render.requested_at == Scenario(RENDER).now


@pytest.mark.req("RN-18")
def test_renders_are_numbered_from_one_in_the_order_of_requests():
    scenario = queue()
    for number in range(1, 4):
        scenario.when(request())
        assert told(scenario, RenderRequested)[0].render_id == number
    assert list(queue_of(scenario).renders) == [1, 2, 3]


def test_numbers_go_on_after_renders_are_archived():
    scenario = queue(
        *[
            RenderRequested(
                render_id=7,
                composition_id=CHIPS,
                composition="x",
                gfx_id="g",
                gfx_data=SEALED,
                cue_item_id=None,
                broadcast_date=DAY,
                uid=uid(7),
            )
        ]
    ).when(request())
    assert told(scenario, RenderRequested)[0].render_id == 8


@pytest.mark.req("RN-11")
@pytest.mark.parametrize(
    ("now", "day"),
    [
        (datetime(2026, 3, 2, 14, 59, 59, tzinfo=UTC), date(2026, 3, 2)),
        (datetime(2026, 3, 2, 15, 0, tzinfo=UTC), date(2026, 3, 3)),
        (datetime(2026, 12, 31, 15, 0, tzinfo=UTC), date(2027, 1, 1)),
        (datetime(2026, 7, 1, 0, 0, tzinfo=UTC), date(2026, 7, 1)),
    ],
)
def test_without_a_day_it_is_for_today_in_seoul(now, day):
    scenario = Scenario(RENDER, now).when(request())
    assert told(scenario, RenderRequested)[0].broadcast_date == day


@pytest.mark.parametrize(
    ("described", "said", "name"),
    [
        ([], "", CHIPS),
        ([], "Mine", "Mine"),
        ([CompositionDescribed(CHIPS, "_MAIN Mini Chip Count", "", "", 1)], "", "_MAIN Mini Chip Count"),
        ([CompositionDescribed(CHIPS, "_MAIN Mini Chip Count", "", "", 1)], "Mine", "Mine"),
        ([CompositionDescribed(CHIPS, "", "", "", 1)], "", CHIPS),
        (
            [
                FieldMapped(
                    mapping_id=1,
                    composition_id=CHIPS,
                    field_name="Single - x",
                    layer_name="X",
                    kind="data",
                    property="Source Text",
                    version=1,
                )
            ],
            "",
            CHIPS,
        ),
    ],
)
def test_its_name_is_what_was_said_else_what_is_described_else_the_id(described, said, name):
    scenario = queue(*described).when(request(composition=said))
    assert told(scenario, RenderRequested)[0].composition == name


DESCRIBED = CompositionDescribed(CHIPS, "_MAIN Mini Chip Count", "", "", 1)
MAPPED = FieldMapped(
    mapping_id=1,
    composition_id=CHIPS,
    field_name="Single - x",
    layer_name="X",
    kind="data",
    property="Source Text",
    version=1,
)


@pytest.mark.req("RN-06", "RN-07")
@pytest.mark.parametrize("known", [DESCRIBED, MAPPED], ids=["described", "mapped"])
def test_where_compositions_are_known_another_is_refused_by_field_and_value(known):
    scenario = queue(known).when(request("comp_chps"))
    scenario.then_rejected(Code.VALIDATION_ERROR, field="composition_id", value="comp_chps")
    assert "aep_compositions" in scenario.decision.rejection.message, "it says what to do"


@pytest.mark.req("RN-06", "RN-07")
def test_the_name_of_a_known_composition_is_not_its_id():
    scenario = queue(DESCRIBED).when(request("_MAIN Mini Chip Count"))
    scenario.then_rejected(Code.VALIDATION_ERROR, field="composition_id", value="_MAIN Mini Chip Count")


@pytest.mark.req("RN-06", "RN-07")
def test_a_request_that_says_what_after_effects_calls_its_composition_needs_no_mapping():
    """As in 003: `gfx_data.composition_name` is always there, and flags have layers without a mapping."""
    scenario = queue(DESCRIBED).when(request("comp_flags", composition="_SUB Flags"))
    assert told(scenario, RenderRequested)[0].composition == "_SUB Flags"


@pytest.mark.req("RN-06", "RN-07")
def test_where_none_is_known_any_composition_is_taken():
    queue().when(request("anything")).then(RenderRequested)
    queue(DESCRIBED, CompositionRemoved(CHIPS, 2)).when(request("anything")).then(RenderRequested)


@pytest.mark.req("RN-06", "RN-07")
def test_a_composition_that_is_described_needs_no_fields():
    queue(DESCRIBED).when(request()).then(RenderRequested)


def test_uids_differ_by_render_by_generation_and_by_time_and_suit_a_folder_name():
    later = datetime(2027, 1, 1, tzinfo=UTC)
    uids = {uid(1), uid(2), uid(1, 2), uid(1, 1, later), uid(11), uid(1, 12)}
    assert len(uids) == 6
    assert all(one.replace("-", "").isalnum() and one.isascii() and len(one) <= 64 for one in uids)
    assert uid(1) == uid(1)


def test_open_renders_have_a_bound_and_one_that_ends_makes_room():
    scenario = queue()
    for _ in range(OPEN_RENDERS_MAX):
        scenario.decision = RENDER.decide(scenario.state, request(), scenario.now)
        scenario.given(*scenario.decision.events)
    scenario.when(request()).then_rejected(Code.CONFLICT)
    scenario.given(*HAND.preparing()).when(request()).then_rejected(Code.CONFLICT)
    assert W1 in queue_of(scenario).held
    scenario.when(HAND.completes()).when(request()).then(RenderRequested)


@pytest.mark.req("YR-13")
def test_the_day_of_a_broadcast_is_that_of_the_wall_clock():
    scenario = queue().after(days=1).given(TermStarted(2, "w", ahead_s=86_400.0))
    scenario.when(request())
    assert render_of(scenario).broadcast_date == DAY
