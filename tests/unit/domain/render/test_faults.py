"""The table of faults (RN-12): what is tried again, after how long, how often, and who hears of it in the end."""

from datetime import timedelta

import pytest

from drover.domain.alerts import AlertRaised
from drover.domain.render import render_decider
from drover.domain.render.commands import Claim, RerunRender
from drover.domain.render.events import RenderFailed, RenderProgressed, RenderRequeued, RenderSubmitted, RetryScheduled
from drover.domain.render.policy import RETRY_DELAY_MAX, RULES, Fault, Policy
from drover.domain.render.state import Status
from drover.testing.scenario import given
from tests.unit.domain.render.world import (
    CHIPS,
    HAND,
    W1,
    WORKING_STATES,
    Hand,
    answered,
    at,
    hand_of,
    queue,
    queue_of,
    render_of,
    requested,
    told,
    uid,
)

WHERE = {
    "NEXRENDER_DOWN": "preparing",
    "NEXRENDER_REFUSED": "preparing",
    "TEMPLATE_MISSING": "preparing",
    "IMAGE_MISSING": "preparing",
    "MAPPING_MISSING": "preparing",
    "GFX_DATA_UNREADABLE": "preparing",
    "RENDER_ERROR": "rendering",
    "RENDER_TIMEOUT": "rendering",
    "RENDER_LOST": "rendering",
    "OUTPUT_INVALID": "uploading",
    "NAS_AWAY": "uploading",
    "WORKER_FAILED": "rendering",
}
"""In which state a worker meets it."""

STEPS = {
    "NEXRENDER_DOWN": [60, 120, 240],
    "NAS_AWAY": [30, 30, 30],
    "OUTPUT_INVALID": [60, 60],
}
"""Seconds before each further try of the same step; the checks of a file are three, so two come after the first."""

RENDERS = {"RENDER_TIMEOUT": 2, "RENDER_LOST": 2}
"""How often all of it is done once more."""

ALERTS = {
    "NEXRENDER_DOWN": ("nexrender_down", "nexrender"),
    "NEXRENDER_REFUSED": ("nexrender_refused", "nexrender"),
    "TEMPLATE_MISSING": ("template_missing", CHIPS),
    "IMAGE_MISSING": ("render_failed", "1"),
    "MAPPING_MISSING": ("mapping_missing", CHIPS),
    "GFX_DATA_UNREADABLE": ("gfx_data_unreadable", "1"),
    "RENDER_TIMEOUT": ("render_timeout", "1"),
    "NAS_AWAY": ("nas_away", "nas"),
    "RENDER_ERROR": ("render_failed", "1"),
    "RENDER_LOST": ("render_failed", "1"),
    "OUTPUT_INVALID": ("render_failed", "1"),
    "WORKER_FAILED": ("render_failed", "1"),
}
"""Kind and subject of the alert when it is final: each leaves a render that waits for a person."""


def test_the_tables_are_whole():
    assert {*WHERE} == {*ALERTS} == {*Fault}
    assert not STEPS.keys() & RENDERS.keys()
    assert {fault for fault, rule in RULES.items() if rule.retries} <= STEPS.keys() | RENDERS.keys()


@pytest.mark.req("RN-12")
@pytest.mark.parametrize("fault", sorted({*Fault} - RENDERS.keys()))
def test_a_step_is_tried_again_as_often_and_as_late_as_the_table_says_and_then_it_has_failed(fault):
    scenario = queue(*WORKING_STATES[WHERE[fault]])
    for number, seconds in enumerate(STEPS.get(fault, []), 1):
        due_at = scenario.now + timedelta(seconds=seconds)
        scenario.when(HAND.fails(fault)).then(HAND.retry(fault, number, due_at))
        render = render_of(scenario)
        assert (render.status, render.worker_id, render.retry_due) == (WHERE[fault], W1, due_at)
        assert answered(scenario) == {"again": "step", "number": number, "due_at": due_at, "delay_s": seconds}
        scenario.after(seconds=seconds).ticked().then_nothing()
    scenario.when(HAND.fails(fault, "for good"))
    scenario.then(RenderFailed(1, 1, fault, "for good", uid()), AlertRaised)
    assert render_of(scenario).status is Status.FAILED
    assert answered(scenario)["again"] is None


@pytest.mark.req("RN-12")
@pytest.mark.parametrize("fault", sorted(Fault))
def test_the_end_is_the_alert_that_the_table_names(fault):
    scenario = queue(*WORKING_STATES[WHERE[fault]])
    for _ in STEPS.get(fault, []):
        scenario.when(HAND.fails(fault))
    for _ in range(RENDERS.get(fault, 0)):
        scenario.when(hand_of(scenario).fails(fault)).when(Claim(W1))
    scenario.when(hand_of(scenario).fails(fault, "for good"))
    raised = [(alert.kind, alert.subject) for alert in told(scenario, AlertRaised)]
    assert raised == [ALERTS[fault]]
    for alert in told(scenario, AlertRaised):
        assert alert.message == "Render 1 (_MAIN Mini Chip Count) failed: for good"
        assert (alert.until, alert.details) == (scenario.now + timedelta(hours=24), {"render_id": 1})


@pytest.mark.req("RN-12")
@pytest.mark.parametrize("fault", sorted(RENDERS))
def test_all_of_it_is_done_again_twice_as_a_new_job_and_the_old_one_is_stopped(fault):
    scenario = queue(requested()).when(Claim(W1))
    for generation in (2, 3):
        hand = hand_of(scenario)
        scenario.when(hand.submits()).when(hand.progresses(70)).after(minutes=3).when(hand.fails(fault))
        fresh = uid(1, generation, scenario.now)
        scenario.then(
            RenderRequeued(
                render_id=1,
                run=hand.run,
                reason=fault,
                message="oh",
                recovery_count=0,
                generation=generation,
                uid=fresh,
                stop=hand.uid,
            )
        )
        render = render_of(scenario)
        assert (render.status, render.worker_id, render.uid, render.generation) == ("pending", None, fresh, generation)
        assert (render.progress, render.nexrender_job_id, render.started_at) == (0, None, None)
        assert queue_of(scenario).stops[hand.uid].discard is False
        assert queue_of(scenario).stops[hand.uid].nexrender_job_id == "nx-1"
        scenario.when(Claim(W1))
    last = hand_of(scenario)
    scenario.when(last.submits()).when(last.fails(fault))
    (failed,) = told(scenario, RenderFailed)
    assert (failed.run, failed.fault, failed.message, failed.stop) == (3, fault, "oh", last.uid)
    assert len(queue_of(scenario).stops) == 3


@pytest.mark.req("RN-12")
def test_thirty_minutes_in_all_and_it_is_cancelled_and_run_again_twice_by_the_clock():
    scenario = queue(requested())
    for generation in (2, 3):
        scenario.when(Claim(W1)).when(hand_of(scenario).submits())
        old = hand_of(scenario)
        scenario.after(minutes=20).when(old.renews()).after(minutes=9, seconds=59).ticked().then_nothing()
        scenario.after(seconds=1).ticked()
        fresh = uid(1, generation, scenario.now)
        message = "Nexrender timeout (30min exceeded)"
        scenario.then(
            RenderRequeued(
                render_id=1,
                run=old.run,
                reason="RENDER_TIMEOUT",
                message=message,
                recovery_count=0,
                generation=generation,
                uid=fresh,
                stop=old.uid,
            )
        )
    scenario.when(Claim(W1)).when(hand_of(scenario).submits())
    last = hand_of(scenario)
    scenario.after(minutes=20).when(last.renews()).after(minutes=10).ticked().then(RenderFailed, AlertRaised)
    assert told(scenario, RenderFailed)[0].stop == last.uid
    assert told(scenario, AlertRaised)[0].kind == "render_timeout"
    scenario.after(hours=2).ticked().then_nothing()


@pytest.mark.req("RN-12")
def test_thirty_minutes_are_counted_over_all_workers_of_one_job():
    scenario = queue(*WORKING_STATES["rendering"]).after(minutes=10).when(HAND.hands_back())
    scenario.after(minutes=10).when(Claim(W1)).when(Hand(1, 2).submits(found=True))
    assert told(scenario, RenderSubmitted)[0].timeout_at == at(minutes=30)
    scenario.after(minutes=10).ticked().then(RenderRequeued)
    assert told(scenario, RenderRequeued)[0].reason == "RENDER_TIMEOUT"


@pytest.mark.req("RN-12")
def test_a_job_that_nobody_follows_runs_out_of_time_as_well():
    scenario = queue(*WORKING_STATES["rendering"]).after(minutes=10).when(HAND.hands_back())
    scenario.after(minutes=20).ticked()
    (requeued,) = told(scenario, RenderRequeued)
    assert (requeued.reason, requeued.generation, requeued.stop) == ("RENDER_TIMEOUT", 2, uid())
    assert list(queue_of(scenario).pending.due.values()) == [at()]


@pytest.mark.req("RN-12")
def test_once_nexrender_has_finished_its_time_is_over_however_long_the_copy_takes():
    scenario = queue(*WORKING_STATES["uploading"])
    for _ in range(6):
        scenario.after(minutes=20).when(HAND.renews()).ticked().then_nothing()


@pytest.mark.req("RN-04", "RN-12")
def test_a_finished_job_whose_worker_died_with_the_copy_is_not_rendered_again():
    """It is found finished half an hour later: its 30 minutes must not fall on whoever finds it."""
    scenario = queue(*WORKING_STATES["uploading"]).after(minutes=40).ticked().when(Claim(W1))
    second = Hand(1, 2)
    scenario.when(second.submits(found=True)).ticked().then_nothing()
    assert render_of(scenario).status is Status.RENDERING
    scenario.after(minutes=2).when(second.has_rendered()).when(second.completes())
    assert render_of(scenario).status is Status.COMPLETED
    assert (render_of(scenario).generation, queue_of(scenario).stops) == (1, {})


@pytest.mark.req("RN-12")
def test_a_finished_job_that_was_lost_is_a_new_one_with_a_time_of_its_own():
    scenario = queue(*WORKING_STATES["uploading"]).when(HAND.fails("RENDER_LOST")).after(minutes=50)
    scenario.when(Claim(W1)).when(Hand(1, 2).submits()).after(minutes=1).when(Hand(1, 2).hands_back())
    scenario.after(minutes=1).when(Claim(W1)).when(Hand(1, 3).submits(found=True))
    assert told(scenario, RenderSubmitted)[0].timeout_at == at(minutes=80)


@pytest.mark.req("RN-12")
def test_each_fault_has_a_count_of_its_own():
    scenario = queue(*WORKING_STATES["uploading"])
    for fault, number in (("OUTPUT_INVALID", 1), ("NAS_AWAY", 1), ("OUTPUT_INVALID", 2), ("NAS_AWAY", 2)):
        scenario.when(HAND.fails(fault)).then(RetryScheduled)
        assert told(scenario, RetryScheduled)[0].number == number


@pytest.mark.req("RN-12")
def test_a_new_worker_has_no_more_tries_than_the_one_before_had_left():
    scenario = queue(*WORKING_STATES["uploading"])
    for _ in range(3):
        scenario.when(HAND.fails("NAS_AWAY"))
    scenario.when(HAND.hands_back()).when(Claim(W1)).when(Hand(1, 2).fails("NAS_AWAY")).then(RenderFailed, AlertRaised)


@pytest.mark.req("RN-12")
def test_a_new_job_has_all_its_tries_again_but_not_its_renders():
    scenario = queue(*WORKING_STATES["uploading"])
    for fault in ("OUTPUT_INVALID", "OUTPUT_INVALID", "NAS_AWAY", "RENDER_LOST"):
        scenario.when(HAND.fails(fault))
    scenario.when(Claim(W1)).when(Hand(1, 2).fails("OUTPUT_INVALID"))
    assert told(scenario, RetryScheduled)[0].number == 1
    scenario.when(Hand(1, 2).fails("RENDER_LOST")).then(RenderRequeued)
    scenario.when(Claim(W1)).when(Hand(1, 3).fails("RENDER_LOST")).then(RenderFailed, AlertRaised)


@pytest.mark.req("RN-12")
@pytest.mark.parametrize("sign", ["submitted", "progress", "the same progress", "encoding", "rendered"])
def test_nexrender_that_answers_again_has_all_its_retries_again(sign):
    state = "preparing" if sign == "submitted" else "rendering"
    scenario = queue(*WORKING_STATES[state])
    for _ in range(3):
        scenario.when(HAND.fails("NEXRENDER_DOWN"))
    scenario.after(seconds=240).when(
        {
            "submitted": HAND.submits(),
            "progress": HAND.progresses(50),
            "the same progress": HAND.progresses(0),
            "encoding": HAND.progresses(0, "encoding"),
            "rendered": HAND.has_rendered(),
        }[sign]
    )
    assert render_of(scenario).retry_due is None
    scenario.when(HAND.fails("NEXRENDER_DOWN")).then(
        HAND.retry("NEXRENDER_DOWN", 1, scenario.now + timedelta(seconds=60))
    )


@pytest.mark.req("RN-12")
def test_that_it_answers_again_is_told_once():
    scenario = queue(*WORKING_STATES["rendering"], RenderProgressed(1, 1, W1, 45))
    scenario.when(HAND.progresses(45)).then_nothing()
    scenario.when(HAND.fails("NEXRENDER_DOWN")).when(HAND.progresses(45)).then(RenderProgressed(1, 1, W1, 45))
    scenario.when(HAND.progresses(45)).then_nothing()


@pytest.mark.req("RN-12")
def test_what_else_had_gone_wrong_before_is_not_forgotten_when_nexrender_answers():
    scenario = queue(*WORKING_STATES["preparing"])
    scenario.when(HAND.fails("NAS_AWAY")).when(HAND.submits()).when(HAND.fails("NAS_AWAY"))
    assert told(scenario, RetryScheduled)[0].number == 2


@pytest.mark.req("RN-12")
def test_the_worker_keeps_the_render_while_it_waits_and_its_lease_runs_on():
    scenario = queue(*WORKING_STATES["preparing"]).when(HAND.fails("NEXRENDER_DOWN"))
    assert queue_of(scenario).held == {W1: 1}
    assert render_of(scenario).lease_until == at(minutes=30)
    scenario.when(Claim("worker-9")).then_nothing()


@pytest.mark.req("RN-12", "RN-23")
def test_retries_and_their_delays_can_be_set():
    decider = render_decider(Policy(retries=1, retry_base_s=5))
    scenario = given(decider, *WORKING_STATES["preparing"])
    scenario.when(HAND.fails("NEXRENDER_DOWN")).then(HAND.retry("NEXRENDER_DOWN", 1, at(seconds=5)))
    scenario.when(HAND.fails("NEXRENDER_DOWN")).then(RenderFailed, AlertRaised)
    given(render_decider(Policy(retries=0)), *WORKING_STATES["preparing"]).when(HAND.fails("NEXRENDER_DOWN")).then(
        RenderFailed, AlertRaised
    )


@pytest.mark.req("RN-12")
def test_the_time_limit_can_be_set_and_is_told_as_set():
    decider = render_decider(Policy(render_timeout_s=90))
    scenario = given(decider, *WORKING_STATES["preparing"]).when(HAND.submits()).after(seconds=90).ticked()
    assert told(scenario, RenderRequeued)[0].message == "Nexrender timeout (1.5min exceeded)"


@pytest.mark.parametrize("number", [7, 100, 10_000])
def test_no_delay_is_longer_than_its_bound_however_many_retries_are_set(number):
    assert Policy(retries=10_000).rule(Fault.NEXRENDER_DOWN).delay(number) == RETRY_DELAY_MAX


@pytest.mark.req("RN-12")
def test_a_text_of_any_length_with_anything_in_it_is_no_reason_to_lose_the_fault():
    """nexrender's errors are whole outputs of programs, with their colours."""
    scenario = queue(*WORKING_STATES["rendering"])
    scenario.when(HAND.fails("RENDER_ERROR", "\x1b[31mError:\x00 " + "가" * 100_000))
    (failed,) = told(scenario, RenderFailed)
    assert failed.message.startswith(" [31mError:  가")
    assert len(failed.message.encode()) <= 6000
    assert not any(ord(character) < 32 for character in failed.message)


@pytest.mark.req("RN-12")
def test_a_rerun_has_all_its_retries_again():
    scenario = queue(*WORKING_STATES["preparing"])
    for _ in range(4):
        scenario.when(HAND.fails("NEXRENDER_DOWN"))
    scenario.when(RerunRender(1)).when(Claim(W1)).when(Hand(1, 2).fails("NEXRENDER_DOWN"))
    assert told(scenario, RetryScheduled)[0].number == 1
