"""Stalls: whose progress has stood still for 120 s, what an advertisement holds, and what starts the time again."""

import pytest

from drover.bus.telemetry import Work
from drover.domain.fleet.state import Assignment, Phase
from drover.scheduler.stalls import Stalls
from drover.testing.scenario import NOON

pytestmark = pytest.mark.req("DF-18")


def running(device="d1", run=1, progress_pct=0, assignment="a1", ad_playing=False):
    return Assignment(
        assignment,
        "j1",
        device,
        NOON,
        phase=Phase.RUNNING,
        run=run,
        progress_pct=progress_pct,
        ad_playing=ad_playing,
    )


def work(progress_pct, run=1, assignment="a1", **says):
    return Work(assignment, run, progress_pct, **says)


def stalled(stalls, now_s):
    return [(attempt.assignment_id, attempt.run) for attempt in stalls.take_stalled(now_s)]


@pytest.fixture
def stalls():
    return Stalls(stalled_after_s=120, ad_holds_s=300)


def test_an_attempt_without_any_report_stalls_120_s_after_it_was_first_seen_to_run(stalls):
    stalls.hear(running(), None, 100)
    stalls.hear(running(), None, 210)
    assert stalled(stalls, 219) == []
    assert stalled(stalls, 220) == [("a1", 1)]


def test_reports_that_say_the_same_do_not_move_it(stalls):
    stalls.hear(running(), work(40), 100)
    stalls.hear(running(), work(40), 160)
    stalls.hear(running(), work(40), 219)
    assert stalled(stalls, 219) == []
    assert stalled(stalls, 220) == [("a1", 1)]


@pytest.mark.parametrize("next_pct", [41, 39])
def test_any_change_of_progress_starts_the_time_again(stalls, next_pct):
    stalls.hear(running(), work(40), 100)
    stalls.hear(running(), work(next_pct), 219)
    assert stalled(stalls, 338) == []
    assert stalled(stalls, 339) == [("a1", 1)]


@pytest.mark.req("DF-30")
def test_a_closed_pop_up_starts_the_time_again(stalls):
    stalls.hear(running(), work(40), 100)
    stalls.hear(running(), work(40, popup_closed=True), 210)
    stalls.hear(running(), work(40), 215)
    assert stalled(stalls, 329) == []
    assert stalled(stalls, 330) == [("a1", 1)]


def test_an_advertisement_holds_the_time_and_gives_back_only_what_was_left(stalls):
    stalls.hear(running(), work(40), 100)
    stalls.hear(running(), work(40, ad_playing=True), 200)
    assert stalled(stalls, 280) == []
    stalls.hear(running(), work(40), 300)
    assert stalled(stalls, 319) == []
    assert stalled(stalls, 320) == [("a1", 1)]


def test_an_advertisement_that_does_not_end_holds_the_time_for_five_minutes(stalls):
    stalls.hear(running(), work(40, ad_playing=True), 100)
    stalls.hear(running(), work(40, ad_playing=True), 300)
    for now_s in range(100, 520):
        assert stalled(stalls, now_s) == []
    assert stalled(stalls, 520) == [("a1", 1)]


def test_five_minutes_are_for_all_advertisements_of_a_run_together(stalls):
    stalls.hear(running(), work(10, ad_playing=True), 100)
    stalls.hear(running(), work(20), 300)  # 200 s of them are used up
    stalls.hear(running(), work(20, ad_playing=True), 310)
    # 10 s have stood, the advertisement holds for another 100 s, then 110 s are left.
    assert stalled(stalls, 519) == []
    assert stalled(stalls, 520) == [("a1", 1)]


def test_a_new_run_starts_anew_with_all_its_time_for_advertisements(stalls):
    stalls.hear(running(), work(40, ad_playing=True), 100)
    stalls.hear(running(run=2), work(40, run=2, ad_playing=True), 500)
    assert stalled(stalls, 919) == []
    assert stalled(stalls, 920) == [("a1", 2)]


def test_an_advertisement_that_the_fleet_knows_of_holds_from_the_first_look(stalls):
    stalls.restart([running(ad_playing=True)], 100)
    assert stalled(stalls, 519) == []
    assert stalled(stalls, 520) == [("a1", 1)]


@pytest.mark.parametrize("other", [work(90, run=1), work(90, run=2, assignment="a0")])
def test_a_word_about_other_work_changes_nothing(stalls, other):
    stalls.hear(running(run=2), work(40, run=2), 100)
    stalls.hear(running(run=2), other, 200)
    assert stalled(stalls, 220) == [("a1", 2)]


def test_the_progress_that_the_fleet_knows_of_is_no_change_when_it_is_reported_again(stalls):
    stalls.hear(running(progress_pct=40), None, 100)
    stalls.hear(running(progress_pct=40), work(40), 110)
    assert stalled(stalls, 220) == [("a1", 1)]


def test_a_restart_gives_every_attempt_its_full_time_and_forgets_those_that_do_not_run(stalls):
    stalls.hear(running(), work(40), 100)
    stalls.hear(running("d2", assignment="a2"), None, 100)
    stalls.restart([running(progress_pct=40), running("d3", assignment="a3")], 219)
    assert stalled(stalls, 338) == []
    assert stalled(stalls, 339) == [("a1", 1), ("a3", 1)]
    assert len(stalls) == 2


def test_a_restart_gives_no_further_time_to_advertisements(stalls):
    stalls.hear(running(), work(40, ad_playing=True), 100)
    stalls.restart([running(progress_pct=40, ad_playing=True)], 300)
    assert stalled(stalls, 519) == []
    assert stalled(stalls, 520) == [("a1", 1)]


def test_a_stall_is_named_once_until_it_is_put_back(stalls):
    stalls.hear(running(), None, 100)
    assert stalled(stalls, 220) == [("a1", 1)]
    assert stalled(stalls, 221) == []
    stalls.put_back("d1", 222)
    assert stalled(stalls, 222) == [("a1", 1)]
    stalls.put_back("d1", 223, start_again=True)
    assert stalled(stalls, 342) == []
    assert stalled(stalls, 343) == [("a1", 1)]


def test_an_attempt_that_moved_while_its_stall_was_told_is_not_overdue_any_more(stalls):
    stalls.hear(running(), work(40), 100)
    stalls.take_stalled(220)
    stalls.hear(running(), work(50), 221)
    stalls.put_back("d1", 222)
    assert stalled(stalls, 340) == []
    assert stalled(stalls, 341) == [("a1", 1)]


def test_a_run_that_begins_while_the_stall_of_the_last_one_is_told_has_its_full_time(stalls):
    stalls.hear(running(), None, 100)
    stalls.take_stalled(220)
    stalls.hear(running(run=2), None, 230)
    stalls.put_back("d1", 231)
    assert stalled(stalls, 349) == []
    assert stalled(stalls, 350) == [("a1", 2)]


def test_what_was_forgotten_or_lost_in_a_restart_is_not_put_back(stalls):
    stalls.hear(running(), None, 100)
    stalls.hear(running("d2", assignment="a2"), None, 100)
    stalls.take_stalled(220)
    stalls.forget("d1")
    stalls.restart([], 220)
    stalls.put_back("d1", 220)
    stalls.put_back("d2", 220)
    assert len(stalls) == 0
    assert stalled(stalls, 1000) == []


def test_whatever_is_reported_a_device_is_looked_at_in_one_place(stalls):
    """The heap must not grow with reports, nor with runs."""
    for now_s in range(1_000):
        stalls.hear(running(run=now_s // 10), work(now_s % 7, run=now_s // 10, ad_playing=now_s % 2 == 0), now_s)
        assert stalled(stalls, now_s) == []
    assert len(stalls) == len(stalls._looks) == 1
