"""The render queue's fold, pure, in memory: renders, their stages, their history."""

from __future__ import annotations

import msgspec
import pytest

from drover.domain.event import TermStarted
from drover.domain.render import events as e
from drover.domain.render.events import QueueEvent
from drover.projection.errors import RowMissing
from drover.projector.render import RENDER_PROJECTION, RULES
from drover.readmodel.events import EVENTS
from drover.readmodel.render.queue import AUDIT, GFX, RENDERS
from tests.unit.domain.render.world import DAY, PATH, SEALED, SHA, W1, W2, Hand, requested
from tests.unit.projection.rendering import SEQ, folded, second

HAND, OTHER = Hand(), Hand(run=2, worker=W2)


def requeued(reason: str, *, run: int = 1, count: int = 1, generation: int = 1) -> e.RenderRequeued:
    return e.RenderRequeued(1, run, reason, f"it was {reason}", count, generation, f"drover-1-{generation}-x", None)


@pytest.mark.req("RN-18")
def test_a_requested_render_is_pending_and_nobodys() -> None:
    row = folded(requested()).render()
    assert (row.status, row.worker_id, row.lock_expires_at, row.nexrender_job_id, row.progress) == (
        "pending",
        None,
        None,
        None,
        0,
    )
    assert (row.composition_id, row.cue_item_id, row.broadcast_date) == ("comp_chips", "cue-1", DAY)
    assert (row.created_at, row.updated_at, row.started_at, row.completed_at) == (second(0), second(0), None, None)
    assert (row.recovery_count, row.run, row.error_message, row.duration_seconds) == (0, 0, None, None)


@pytest.mark.req("RN-17")
def test_gfx_data_is_kept_as_it_was_sealed_and_apart_from_the_row() -> None:
    tables = folded(requested())
    assert tables.shown(GFX) == [{"id": 1, "gfx_id": "gfx-1", "gfx_data": SEALED}]
    assert "gfx_data" not in RENDERS.columns, "a row is held in memory and written at each step of progress"


@pytest.mark.req("RN-01")
def test_every_change_of_status_is_in_the_audit_with_worker_and_actor() -> None:
    said = HAND.completed()
    for event in said:
        event.by = f"worker:{W1}"
    tables = folded(requested(), *said)
    assert tables.audit == [
        (None, "pending", None, None),
        ("pending", "preparing", W1, None),
        ("preparing", "rendering", W1, None),
        ("rendering", "encoding", W1, None),
        ("encoding", "uploading", W1, None),
        ("uploading", "completed", W1, None),
    ]
    first, *rest = tables.shown(AUDIT)
    assert (first["changed_by"], {row["changed_by"] for row in rest}) == ("service_role", {f"worker:{W1}"})
    assert [row["changed_at"] for row in rest] == [second(number) for number in range(1, 6)]
    assert [row["id"] for row in rest] == [(SEQ + number) << 16 for number in range(2, 7)]
    assert {row["render_queue_id"] for row in rest} == {1}


def test_what_is_no_change_of_status_is_not_in_the_audit() -> None:
    tables = folded(
        requested(),
        *HAND.rendering(),
        e.LeaseRenewed(*HAND.of, second(99)),
        e.RenderProgressed(*HAND.of, 50),
        HAND.retry("NEXRENDER_DOWN", 1, second(99)),
        e.FieldsUnmapped(*HAND.of, ["Single - x"]),
        HAND.stale(type(HAND.renews()), 2, "rendering"),
    )
    assert len(tables.audit) == 3
    assert len(tables.shown(EVENTS)) == 8, "nothing is missing there"


@pytest.mark.req("RN-01")
@pytest.mark.parametrize("reason", ["lapsed", "released", "handed_back", "RENDER_LOST"])
def test_a_render_that_is_taken_back_is_pending_again_and_the_audit_says_why_and_from_whom(reason: str) -> None:
    tables = folded(requested(), *HAND.rendering(), requeued(reason))
    row = tables.render()
    assert (row.status, row.worker_id, row.lock_expires_at, row.retry_due_at) == ("pending", None, None, None)
    assert row.recovery_count == 1
    assert tables.audit[-1] == ("rendering", "pending", W1, reason)
    assert folded(requested(), *HAND.rendering(), requeued(reason), OTHER.claimed()).audit[-1] == (
        "pending",
        "preparing",
        W2,
        None,
    )


def test_a_worker_that_comes_back_to_its_render_begins_to_prepare_again() -> None:
    again = Hand(run=2)
    tables = folded(requested(), *HAND.rendering(), again.claimed(resumed=True))
    assert (tables.render().status, tables.render().run) == ("preparing", 2)
    assert tables.audit[-1] == ("rendering", "preparing", W1, "resumed")
    still = folded(requested(), *HAND.preparing(), again.claimed(resumed=True))
    assert len(still.audit) == 2, "it was preparing, and is"


def test_the_way_of_a_render_fills_its_columns() -> None:
    row = folded(
        requested(),
        (10, HAND.claimed()),
        (12, HAND.submitted()),
        (30, e.RenderProgressed(*HAND.of, 40)),
        (40, e.LeaseRenewed(*HAND.of, second(2000))),
        (60, e.EncodingStarted(*HAND.of, 90)),
        (70, e.UploadStarted(*HAND.of)),
        (75, HAND.was_completed(63.0)),
    ).render()
    assert (row.status, row.progress, row.worker_id, row.lock_expires_at) == ("completed", 100, W1, None)
    assert (row.nexrender_job_id, row.started_at, row.completed_at) == ("nx-1", second(12), second(75))
    assert (row.output_file_path, row.output_size_bytes, row.output_sha256) == (PATH, 200_000, SHA)
    assert (row.duration_seconds, row.updated_at) == (63.0, second(75))


@pytest.mark.req("RN-25")
def test_the_time_in_each_stage_is_measured_from_one_change_of_status_to_the_next() -> None:
    row = folded(
        requested(),
        (10, HAND.claimed()),
        (11.5, HAND.submitted()),
        (30, e.RenderProgressed(*HAND.of, 40)),
        (61.5, e.EncodingStarted(*HAND.of, 90)),
        (81.5, e.UploadStarted(*HAND.of)),
        (91.5, HAND.was_completed(80.0)),
    ).render()
    assert (row.preparing_seconds, row.rendering_seconds, row.encoding_seconds, row.uploading_seconds) == (
        1.5,
        50.0,
        20.0,
        10.0,
    )


@pytest.mark.req("RN-25")
def test_stays_in_a_stage_add_up_and_waiting_does_not_count() -> None:
    row = folded(
        requested(),
        (10, HAND.claimed()),
        (11, HAND.submitted()),
        (41, requeued("lapsed")),
        (100, OTHER.claimed()),
        (103, OTHER.submitted(found=True)),
        (113, e.UploadStarted(*OTHER.of)),
    ).render()
    assert (row.preparing_seconds, row.rendering_seconds, row.encoding_seconds) == (4.0, 40.0, None)
    assert row.started_at == second(11), "the job at nexrender is the same"


@pytest.mark.req("RN-25")
def test_a_new_job_at_nexrender_is_measured_anew() -> None:
    row = folded(
        requested(),
        (10, HAND.claimed()),
        (11, HAND.submitted()),
        (12, e.FieldsUnmapped(*HAND.of, ["Single - x"])),
        (20, e.RenderProgressed(*HAND.of, 40)),
        (1811, requeued("RENDER_TIMEOUT", count=0, generation=2)),
    ).render()
    assert (row.preparing_seconds, row.rendering_seconds) == (None, None)
    assert (row.progress, row.started_at, row.nexrender_job_id, row.unmapped_fields) == (0, None, None, [])
    assert (row.generation, row.error_code, row.error_message) == (2, "RENDER_TIMEOUT", "it was RENDER_TIMEOUT")


def test_a_retry_shows_what_went_wrong_until_when_and_is_over_when_nexrender_is_back() -> None:
    down = (requested(), *HAND.rendering(), HAND.retry("NEXRENDER_DOWN", 1, second(90), "Connection refused"))
    row = folded(*down).render()
    assert (row.error_code, row.error_message, row.retry_due_at) == (
        "NEXRENDER_DOWN",
        "Connection refused",
        second(90),
    )
    assert (row.status, row.worker_id) == ("rendering", W1)
    back = folded(*down, e.RenderProgressed(*HAND.of, 40)).render()
    assert (back.retry_due_at, back.error_code) == (None, "NEXRENDER_DOWN")
    done = folded(*down, e.UploadStarted(*HAND.of), HAND.was_completed()).render()
    assert (done.error_code, done.error_message) == (None, None)


def test_a_failed_render_says_by_which_fault_and_a_rerun_forgets_it() -> None:
    failed = (requested(), *HAND.rendering(), e.RenderFailed(1, 1, "TEMPLATE_MISSING", "no such file", None))
    tables = folded(*failed)
    row = tables.render()
    assert (row.status, row.error_code, row.error_message) == ("failed", "TEMPLATE_MISSING", "no such file")
    assert (row.worker_id, row.lock_expires_at, row.completed_at) == (W1, None, None)
    assert tables.audit[-1] == ("rendering", "failed", W1, "TEMPLATE_MISSING")
    again = folded(*failed, requeued("rerun", count=0, generation=2)).render()
    assert (again.status, again.error_code, again.error_message, again.worker_id) == ("pending", None, None, None)


@pytest.mark.parametrize(("reason", "shown"), [("", None), ("not needed", "not needed")])
def test_a_cancelled_render_keeps_how_far_it_was(reason: str, shown: str | None) -> None:
    tables = folded(
        requested(), *HAND.rendering(), e.RenderProgressed(*HAND.of, 40), e.RenderCancelled(1, 1, reason, HAND.uid)
    )
    assert (tables.render().status, tables.render().progress) == ("cancelled", 40)
    assert tables.audit[-1] == ("rendering", "cancelled", W1, shown)


def test_fields_without_a_layer_are_on_the_row() -> None:
    row = folded(requested(), *HAND.preparing(), e.FieldsUnmapped(*HAND.of, ["Slot 1 - nick", "Single - x"])).render()
    assert row.unmapped_fields == ["Slot 1 - nick", "Single - x"]


def test_stopping_a_job_and_archiving_a_render_leave_the_row_alone() -> None:
    lived = (requested(), *HAND.rendering(), e.RenderCancelled(1, 1, "", HAND.uid))
    before = folded(*lived).render()
    after = folded(
        *lived,
        e.StopClaimed(1, HAND.uid, W2, second(60), 1, "name", DAY, True, "nx-1"),
        e.RenderStopped(1, HAND.uid, W2),
        e.StopAbandoned(1, HAND.uid, 20),
        e.RenderArchived(1),
    ).render()
    assert after == before


def test_every_event_is_found_by_its_render_and_its_worker() -> None:
    tables = folded(TermStarted(1, "w"), requested(), *HAND.rendering())
    assert [row["entities"] for row in tables.shown(EVENTS)] == [
        (),
        ("1", "comp_chips"),
        ("1", W1),
        ("1", W1, HAND.uid),
    ]


def test_a_nul_is_shown_as_the_replacement_character() -> None:
    tables = folded(requested(), *HAND.rendering(), e.RenderFailed(1, 1, "RENDER_ERROR", "a\0b", None))
    assert tables.render().error_message == "a�b"
    assert msgspec.json.decode(tables.shown(EVENTS)[-1]["data"])["message"] == "a�b"


def test_an_event_of_a_render_that_nobody_requested_is_refused() -> None:
    with pytest.raises(RowMissing):
        folded(HAND.claimed())


def test_every_type_of_event_has_a_rule() -> None:
    types = set(QueueEvent.__args__)
    assert set(RULES) == types
    assert set(RENDER_PROJECTION.reads) == types
