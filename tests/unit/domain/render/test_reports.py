"""What workers report of a run of theirs: submitted, how far, rendered, completed. Progress decides nothing."""

import pytest

from drover.domain.errors import Code
from drover.domain.render.commands import Claim
from drover.domain.render.events import (
    EncodingStarted,
    FieldsUnmapped,
    RenderCompleted,
    RenderProgressed,
    RenderSubmitted,
    UploadStarted,
)
from drover.domain.render.state import Status
from tests.unit.domain.render.world import (
    ENDED_STATES,
    HAND,
    PATH,
    SHA,
    W1,
    W2,
    WORKING_STATES,
    Hand,
    at,
    frozen,
    queue,
    queue_of,
    render_of,
    requested,
    told,
    uid,
)


@pytest.mark.req("RN-01", "RN-09", "RN-18")
def test_the_whole_way_of_a_render():
    scenario = queue(requested()).when(Claim(W1)).after(seconds=2)
    scenario.when(HAND.submits("nx-7")).then(
        RenderSubmitted(
            render_id=1,
            run=1,
            worker_id=W1,
            uid=uid(),
            nexrender_job_id="nx-7",
            found=False,
            timeout_at=at(minutes=30, seconds=2),
        )
    )
    assert render_of(scenario).status is Status.RENDERING
    assert (render_of(scenario).nexrender_job_id, render_of(scenario).started_at) == ("nx-7", at(seconds=2))
    scenario.after(seconds=5).when(HAND.progresses(45)).then(RenderProgressed(1, 1, W1, 45))
    scenario.after(seconds=5).when(HAND.progresses(90, "encoding")).then(EncodingStarted(1, 1, W1, 90))
    assert (render_of(scenario).status, render_of(scenario).progress) == (Status.ENCODING, 90)
    scenario.after(seconds=5).when(HAND.has_rendered()).then(UploadStarted(1, 1, W1))
    assert (render_of(scenario).status, render_of(scenario).progress) == (Status.UPLOADING, 100)
    scenario.after(seconds=5).when(HAND.completes()).then(
        RenderCompleted(
            render_id=1,
            run=1,
            worker_id=W1,
            output_file_path=PATH,
            size_bytes=200_000,
            sha256=SHA,
            duration_seconds=20.0,
            codec="h264",
            width=1920,
            height=1080,
        )
    )
    assert render_of(scenario).status is Status.COMPLETED
    assert queue_of(scenario).held == {}


@pytest.mark.req("RN-09")
def test_progress_is_recorded_at_each_ten_points():
    scenario = queue(*WORKING_STATES["rendering"])
    recorded = []
    for progress in range(101):
        scenario.when(HAND.progresses(progress))
        recorded += [event.progress for event in told(scenario, RenderProgressed)]
    assert recorded == [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert render_of(scenario).status is Status.RENDERING


@pytest.mark.req("RN-09")
@pytest.mark.parametrize(("said", "shown"), [(12, 12), (29, 29), (100, 100), (101, 100), (10**9, 100)])
def test_progress_is_never_above_a_hundred(said, shown):
    queue(*WORKING_STATES["rendering"]).when(HAND.progresses(said)).then(RenderProgressed(1, 1, W1, shown))


@pytest.mark.req("RN-09")
@pytest.mark.parametrize("said", [44, 49, 10, 0, -1])
def test_progress_does_not_go_back_nor_make_an_event_for_a_few_points(said):
    scenario = queue(*WORKING_STATES["rendering"], RenderProgressed(1, 1, W1, 45))
    scenario.when(HAND.progresses(said)).then_nothing()
    assert render_of(scenario).progress == 45


@pytest.mark.req("RN-09")
def test_encoding_begins_once_and_does_not_turn_back_into_rendering():
    scenario = queue(*WORKING_STATES["rendering"], RenderProgressed(1, 1, W1, 45))
    scenario.when(HAND.progresses(3, "encoding")).then(EncodingStarted(1, 1, W1, 45))
    scenario.when(HAND.progresses(46, "encoding")).then_nothing()
    scenario.when(HAND.progresses(61, "encoding")).then(RenderProgressed(1, 1, W1, 61))
    scenario.when(HAND.progresses(71)).then(RenderProgressed(1, 1, W1, 71))
    assert render_of(scenario).status is Status.ENCODING


@pytest.mark.req("RN-09")
@pytest.mark.parametrize("state", ["preparing", "uploading"])
@pytest.mark.parametrize("stage", ["rendering", "encoding"])
def test_before_and_after_nexrender_is_at_work_there_is_no_progress(state, stage):
    scenario = queue(*WORKING_STATES[state])
    before = frozen(scenario)
    scenario.when(HAND.progresses(50, stage)).then_nothing()
    assert frozen(scenario) == before


@pytest.mark.parametrize("state", ["rendering", "encoding", "uploading"])
def test_what_was_submitted_is_not_submitted_again(state):
    scenario = queue(*WORKING_STATES[state])
    before = frozen(scenario)
    scenario.when(HAND.submits("another")).then_nothing()
    assert frozen(scenario) == before


def test_rendered_is_said_once():
    scenario = queue(*WORKING_STATES["rendering"]).when(HAND.has_rendered()).then(UploadStarted(1, 1, W1))
    scenario.when(HAND.has_rendered()).then_nothing()


@pytest.mark.req("RN-03")
def test_a_job_that_was_found_at_nexrender_is_said_to_be_found():
    scenario = queue(*WORKING_STATES["preparing"]).when(HAND.submits(found=True))
    assert told(scenario, RenderSubmitted)[0].found is True


@pytest.mark.req("RN-18")
def test_the_duration_is_from_the_start_of_the_job_that_made_it_whoever_finished_it():
    scenario = queue(*WORKING_STATES["rendering"]).after(minutes=5).when(HAND.hands_back()).when(Claim(W2))
    second = Hand(1, 2, W2)
    scenario.after(minutes=1).when(second.submits(found=True))
    assert render_of(scenario).started_at == at()
    scenario.after(seconds=30).when(second.has_rendered()).when(second.completes())
    assert told(scenario, RenderCompleted)[0].duration_seconds == 390.0


def test_one_that_was_never_begun_took_no_time():
    """A worker that finds its file on the NAS already, from before its crash."""
    scenario = queue(*WORKING_STATES["preparing"]).after(minutes=3).when(HAND.completes())
    assert told(scenario, RenderCompleted)[0].duration_seconds == 0


@pytest.mark.req("RN-06")
def test_fields_without_a_layer_are_written_down_and_the_render_goes_on():
    scenario = queue(*WORKING_STATES["preparing"])
    before = frozen(scenario)
    scenario.when(HAND.misses("Slot 1 - seat", "Single - 한글")).then(
        FieldsUnmapped(1, 1, W1, ["Slot 1 - seat", "Single - 한글"])
    )
    assert frozen(scenario) == before
    scenario.when(HAND.misses()).then_nothing()


@pytest.mark.req("RN-03")
def test_a_completion_that_is_told_twice_is_one():
    scenario = queue(*WORKING_STATES["uploading"]).when(HAND.completes()).then(RenderCompleted)
    before = frozen(scenario)
    scenario.after(seconds=20).when(HAND.completes()).then_nothing()
    assert frozen(scenario) == before


@pytest.mark.req("RN-03")
@pytest.mark.parametrize("other", [Hand(1, 2), Hand(1, 0)])
def test_a_completion_of_another_run_of_what_is_completed_is_refused(other):
    scenario = queue(*ENDED_STATES["completed"])
    scenario.when(other.completes()).then_rejected(
        Code.STALE_ATTEMPT, other.stale(type(other.completes()), 1, "completed"), status="completed"
    )


@pytest.mark.req("RN-03")
def test_a_completion_with_another_file_is_not_the_one_that_was_told():
    scenario = queue(*ENDED_STATES["completed"])
    before = frozen(scenario)
    scenario.when(HAND.completes(sha256="cd" * 32)).then_rejected(
        Code.STALE_ATTEMPT, HAND.stale(type(HAND.completes()), 1, "completed")
    )
    assert frozen(scenario) == before


@pytest.mark.req("RN-01", "RN-22")
@pytest.mark.parametrize("state", ENDED_STATES)
@pytest.mark.parametrize("number", range(8))
def test_whatever_ended_hears_no_reports(state, number):
    scenario = queue(*ENDED_STATES[state])
    before = frozen(scenario)
    hand = Hand(1, 1, W1)
    report = hand.says()[number]
    scenario.when(report)
    if state == "completed" and isinstance(report, type(hand.completes())):
        scenario.then_nothing()
    else:
        assert scenario.decision.rejection.code == Code.STALE_ATTEMPT
    assert frozen(scenario) == before


def test_a_completed_render_keeps_no_gfx_data_in_the_state_and_a_failed_one_does():
    assert render_of(queue(*ENDED_STATES["completed"])).gfx_data == ""
    assert render_of(queue(*ENDED_STATES["failed"])).gfx_data != ""
