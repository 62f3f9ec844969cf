"""External workers: users keep their own worker, which claims and reports by writes of the table."""

from datetime import timedelta

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.errors import Code
from drover.domain.render import external
from drover.domain.render.commands import CancelRender, Claim, ClaimRender, ReleaseRender, ReportWork, RerunRender
from drover.domain.render.events import (
    EncodingStarted,
    LeaseRenewed,
    RenderCancelled,
    RenderClaimed,
    RenderCompleted,
    RenderFailed,
    RenderProgressed,
    RenderRequeued,
    RenderSubmitted,
    UploadStarted,
)
from drover.domain.render.fence import RowFence
from drover.domain.render.state import Status
from tests.unit.domain.render.world import (
    ENDED_STATES,
    HAND,
    NOON,
    PATH,
    W1,
    W2,
    WORKING_STATES,
    Hand,
    answered,
    at,
    frozen,
    hand_of,
    queue,
    queue_of,
    render_of,
    requested,
    uid,
)

MINE = "3f0c4f0e-own"
OTHER = "9a1b2c3d-own"


def claimed(run=1, worker=MINE, *, since=NOON, resumed=False):
    return RenderClaimed(1, run, worker, since + timedelta(minutes=30), resumed, external=True)


def held():
    return queue(requested()).when(ClaimRender(1, MINE))


def rendering():
    return held().when(ReportWork(1, status="rendering", nexrender_job_id="job_abc123"))


# Claiming


@pytest.mark.req("DI-13", "RN-04")
def test_an_external_worker_claims_the_render_that_it_names_and_has_it_for_thirty_minutes():
    scenario = queue(requested(), requested(2)).after(seconds=5).when(ClaimRender(2, MINE))
    scenario.then(RenderClaimed(2, 1, MINE, at(minutes=30, seconds=5), False, external=True))
    scenario.then_answers(id=2, status="preparing", worker_id=MINE, lock_expires_at=at(minutes=30, seconds=5))
    assert (render_of(scenario, 1).status, render_of(scenario, 2).status) == (Status.PENDING, Status.PREPARING)


@pytest.mark.req("DI-13", "RN-03")
def test_the_second_claim_is_refused_and_changes_nothing():
    scenario = held()
    before = frozen(scenario)
    for fence in (None, RowFence(status="pending", run=0)):
        scenario.when(ClaimRender(1, OTHER, only_if=fence)).then_rejected(Code.CONFLICT, status="preparing")
    assert frozen(scenario) == before


@pytest.mark.req("DI-13", "RN-03")
@pytest.mark.parametrize("state", WORKING_STATES)
def test_what_a_worker_of_ours_has_no_external_worker_gets(state):
    queue(*WORKING_STATES[state]).when(ClaimRender(1, MINE)).then_rejected(Code.CONFLICT, worker_id=W1)


@pytest.mark.req("DI-13", "RN-03")
def test_what_an_external_worker_has_no_worker_of_ours_gets():
    held().when(Claim(W1)).then_nothing()


@pytest.mark.req("DI-13")
@pytest.mark.parametrize("state", ENDED_STATES)
def test_what_has_ended_cannot_be_claimed(state):
    queue(*ENDED_STATES[state]).when(ClaimRender(1, MINE)).then_rejected(Code.CONFLICT, status=state)


@pytest.mark.req("DI-13")
def test_a_claim_of_an_unknown_render_is_refused():
    queue().when(ClaimRender(7, MINE)).then_rejected(Code.NOT_FOUND)


@pytest.mark.req("DI-13")
def test_a_claim_needs_a_worker():
    queue(requested()).when(ClaimRender(1)).then_rejected(Code.VALIDATION_ERROR, field="worker_id")


@pytest.mark.req("DI-13", "DI-14")
def test_an_external_worker_may_hold_several_renders():
    scenario = queue(requested(), requested(2)).when(ClaimRender(1, MINE)).when(ClaimRender(2, MINE))
    assert queue_of(scenario).lent == {1, 2}
    scenario.when(ReportWork(1, status="failed")).when(ReleaseRender(2))
    assert (queue_of(scenario).lent, queue_of(scenario).held) == (set(), {})


@pytest.mark.req("DI-13", "RN-04")
@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        pytest.param(at(minutes=10), at(minutes=10), id="as written"),
        pytest.param(at(days=3), at(minutes=30), id="too long"),
        pytest.param(at(hours=-1), at(minutes=30), id="past, because the clock of the worker is wrong"),
        pytest.param(None, at(minutes=30), id="none"),
    ],
)
def test_a_lease_is_as_long_as_the_worker_writes_within_the_set_length(wanted, given):
    scenario = queue(requested()).when(ClaimRender(1, MINE, lease_until=wanted))
    assert render_of(scenario).lease_until == given


# Reports


@pytest.mark.req("DI-13", "RN-01", "RN-09")
def test_an_external_worker_reports_from_claim_to_end():
    scenario = rendering().then(RenderSubmitted(1, 1, MINE, uid(), "job_abc123", False, at(minutes=30)))
    scenario.when(ReportWork(1, status="rendering", progress=45)).then(RenderProgressed(1, 1, MINE, 45))
    scenario.when(ReportWork(1, progress=47)).then(RenderProgressed(1, 1, MINE, 47))
    scenario.when(ReportWork(1, status="encoding", progress=90)).then(EncodingStarted(1, 1, MINE, 90))
    scenario.when(ReportWork(1, status="uploading", progress=100)).then(UploadStarted(1, 1, MINE))
    scenario.after(seconds=90).when(ReportWork(1, status="completed", output_file_path=PATH))
    scenario.then(
        RenderCompleted(
            1,
            1,
            MINE,
            output_file_path=PATH,
            size_bytes=0,
            sha256="",
            duration_seconds=90.0,
            codec="",
            width=0,
            height=0,
        )
    )
    assert (render_of(scenario).status, render_of(scenario).progress) == (Status.COMPLETED, 100)
    assert (queue_of(scenario).lent, queue_of(scenario).stops) == (set(), {})


@pytest.mark.req("DI-13")
def test_stages_that_a_worker_passes_over_follow_from_the_next_one():
    held().when(ReportWork(1, status="encoding", progress=80)).then(RenderSubmitted, EncodingStarted)
    held().when(ReportWork(1, status="uploading")).then(RenderSubmitted, UploadStarted)
    held().when(ReportWork(1, status="completed", output_file_path=PATH)).then(RenderSubmitted, RenderCompleted)


@pytest.mark.req("DI-13")
def test_the_same_report_again_records_nothing():
    for report in (
        ReportWork(1, status="rendering", progress=45),
        ReportWork(1, status="encoding", progress=90),
        ReportWork(1, status="uploading"),
        ReportWork(1, status="completed", output_file_path=PATH),
    ):
        rendering().when(report).when(report).then_nothing()
    rendering().when(ReportWork(1, status="failed", message="oh")).when(ReportWork(1, status="failed")).then_nothing()


@pytest.mark.req("DI-13")
def test_a_new_job_at_nexrender_is_recorded_under_its_id():
    scenario = rendering().when(ReportWork(1, status="uploading"))
    scenario.when(ReportWork(1, status="rendering", nexrender_job_id="job_2"))
    assert (render_of(scenario).status, render_of(scenario).nexrender_job_id) == (Status.RENDERING, "job_2")


@pytest.mark.req("DI-13", "RN-12")
def test_a_failure_is_final_because_the_worker_retries_by_itself():
    scenario = rendering().when(ReportWork(1, status="failed", message="File too small: 12 bytes"))
    scenario.then(RenderFailed(1, 1, "WORKER_FAILED", "File too small: 12 bytes", None), AlertRaised)
    scenario.when(RerunRender(1)).then(RenderRequeued, AlertResolved)


@pytest.mark.req("DI-13", "RN-22")
def test_a_report_that_names_another_worker_is_refused_and_changes_nothing():
    scenario = rendering()
    before = frozen(scenario)
    for status in ("rendering", "encoding", "uploading", "completed", "failed"):
        report = ReportWork(1, status=status, worker_id=OTHER, progress=50, output_file_path=PATH)
        scenario.when(report).then_rejected(Code.CONFLICT, worker_id=MINE)
    assert frozen(scenario) == before


@pytest.mark.req("DI-13", "RN-22")
@pytest.mark.parametrize("state", [*WORKING_STATES, *ENDED_STATES, "pending"])
def test_a_report_about_what_no_external_worker_holds_is_refused(state):
    histories = WORKING_STATES | ENDED_STATES | {"pending": [requested()]}
    scenario = queue(*histories[state])
    before = frozen(scenario)
    for status in (None, "rendering", "completed", "failed"):
        scenario.when(ReportWork(1, status=status, progress=50)).then_rejected(Code.CONFLICT, status=state)
    assert frozen(scenario) == before


@pytest.mark.req("DI-13", "RN-02")
def test_a_worker_whose_render_was_cancelled_is_told_by_its_next_report():
    scenario = rendering().when(CancelRender(1)).then(RenderCancelled(1, 1, "", None))
    scenario.when(ReportWork(1, progress=60)).then_rejected(Code.CONFLICT, status="cancelled")
    scenario.when(RerunRender(1)).then(RenderRequeued)


@pytest.mark.req("DI-13")
def test_a_worker_that_begins_again_starts_a_new_run_and_is_counted_as_lost():
    scenario = rendering().after(minutes=1).when(ClaimRender(1, MINE))
    scenario.then(claimed(run=2, since=at(minutes=1), resumed=True))
    assert (render_of(scenario).status, render_of(scenario).resumes) == (Status.PREPARING, 1)
    scenario.when(ClaimRender(1, MINE)).then_nothing()


@pytest.mark.control
def test_without_the_fence_a_late_worker_would_end_the_render_of_the_winner(monkeypatch):
    def late_report():
        scenario = rendering().after(minutes=30).ticked().when(Claim(W1))
        return scenario.when(ReportWork(1, worker_id=MINE, status="completed", output_file_path=PATH))

    assert late_report().decision.rejection is not None
    monkeypatch.setattr(external, "_holds", lambda render, worker_id: True)
    assert render_of(late_report()).status is Status.COMPLETED


# Leases


@pytest.mark.req("DI-13", "RN-04")
def test_a_report_renews_the_lease_as_often_as_our_workers_do_and_for_as_long_as_the_worker_wrote():
    scenario = queue(requested()).when(ClaimRender(1, MINE, lease_until=at(minutes=12)))
    scenario.after(minutes=3).when(ReportWork(1, progress=10)).then(RenderProgressed)
    scenario.after(minutes=1).when(ReportWork(1, progress=20))
    scenario.then(RenderProgressed, LeaseRenewed(1, 1, MINE, at(minutes=16)))


@pytest.mark.req("DI-13", "RN-04")
def test_a_worker_renews_its_lease_by_writing_it():
    held().after(minutes=1).when(ReportWork(1, lease_until=at(minutes=31))).then(
        LeaseRenewed(1, 1, MINE, at(minutes=31))
    )


@pytest.mark.req("DI-13", "RN-04")
def test_a_lease_that_lapses_gives_the_render_back_as_a_new_job():
    scenario = rendering().after(minutes=30).ticked()
    scenario.then(
        RenderRequeued(
            render_id=1,
            run=1,
            reason="lapsed",
            message=f"Worker {MINE} did not renew its lease in time",
            recovery_count=1,
            generation=2,
            uid=uid(1, 2, at(minutes=30)),
            stop=None,
        )
    )
    render = render_of(scenario)
    assert (render.status, render.worker_id, render.nexrender_job_id, render.progress) == (
        Status.PENDING,
        None,
        None,
        0,
    )
    scenario.when(ReportWork(1, worker_id=MINE, status="completed", output_file_path=PATH))
    scenario.then_rejected(Code.CONFLICT, status="pending")
    scenario.when(Claim(W1)).then_answers(render_id=1, run=2)
    scenario.when(ReportWork(1, status="completed", output_file_path=PATH)).then_rejected(Code.CONFLICT, worker_id=W1)
    scenario.when(hand_of(scenario).submits()).when(hand_of(scenario).completes())
    assert render_of(scenario).status is Status.COMPLETED


@pytest.mark.req("DI-13", "RN-12")
def test_a_render_of_an_external_worker_times_out_and_is_run_again_twice():
    scenario = queue(requested())
    for _ in range(3):
        scenario.when(ClaimRender(1, MINE)).when(ReportWork(1, status="rendering", nexrender_job_id="job"))
        for _ in range(6):
            scenario.after(minutes=5).when(ReportWork(1, lease_until=scenario.now + timedelta(minutes=30)))
        scenario.ticked()
    assert (render_of(scenario).status, render_of(scenario).generation) == (Status.FAILED, 3)


@pytest.mark.req("DI-13", "RN-04")
def test_what_our_worker_left_at_nexrender_is_stopped_when_an_external_worker_starts_its_own_job():
    scenario = queue(*WORKING_STATES["rendering"]).when(ReleaseRender(1)).when(ClaimRender(1, MINE))
    fresh = uid(1, 2, scenario.now)
    scenario.then(
        RenderRequeued(
            render_id=1,
            run=1,
            reason="superseded",
            message=f"Worker {MINE} starts a job of its own",
            recovery_count=1,
            generation=2,
            uid=fresh,
            stop=uid(),
        ),
        claimed(run=2),
    )
    assert answered(scenario)["status"] == "preparing"
    assert queue_of(scenario).stops.keys() == {uid()}
    late = Hand(1, 1, W1)
    scenario.when(late.completes()).then_rejected(
        Code.STALE_ATTEMPT, late.stale(type(late.completes()), 2, "preparing")
    )


@pytest.mark.req("DI-13", "RN-02")
def test_a_cancel_stops_no_job_of_an_external_worker_but_removes_what_ours_may_have_left():
    scenario = queue(*WORKING_STATES["rendering"]).when(ReleaseRender(1)).when(ClaimRender(1, MINE))
    scenario.when(ReportWork(1, status="rendering", nexrender_job_id="job_1")).when(CancelRender(1))
    (own,) = (stop for stop in queue_of(scenario).stops.values() if stop.discard)
    assert own.nexrender_job_id is None, "it may be the id of another job at our nexrender"


# Fences of what people write


@pytest.mark.req("DI-14")
@pytest.mark.parametrize("command", [CancelRender, ReleaseRender])
@pytest.mark.parametrize(
    "fence",
    [
        RowFence(status="preparing"),
        RowFence(run=2),
        RowFence(worker_id=W2),
        RowFence(lease_until=at(minutes=29)),
        RowFence(status="rendering", worker_id=W1, run=1, lease_until=at(minutes=29)),
    ],
    ids=str,
)
def test_a_render_that_has_moved_on_is_not_cancelled_or_released(command, fence):
    scenario = queue(*WORKING_STATES["rendering"])
    before = frozen(scenario)
    scenario.when(command(1, only_if=fence)).then_rejected(Code.CONFLICT, status="rendering", run=1)
    assert frozen(scenario) == before


@pytest.mark.req("DI-14")
@pytest.mark.parametrize("command", [CancelRender, ReleaseRender])
def test_a_render_that_still_matches_is_cancelled_or_released(command):
    fence = RowFence(status="rendering", worker_id=W1, run=1, lease_until=HAND.claimed().lease_until)
    queue(*WORKING_STATES["rendering"]).when(command(1, only_if=fence))
    assert queue(*WORKING_STATES["rendering"]).when(command(1, only_if=fence)).decision.rejection is None


@pytest.mark.req("DI-14")
def test_a_render_that_has_moved_on_is_not_run_again():
    scenario = queue(*ENDED_STATES["failed"])
    scenario.when(RerunRender(1, RowFence(status="cancelled"))).then_rejected(Code.CONFLICT, status="failed")
    scenario.when(RerunRender(1, RowFence(status="failed"))).then(RenderRequeued)
