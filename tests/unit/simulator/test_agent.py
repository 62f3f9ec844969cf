"""The rules of docs/agents.md, one sentence each, on a virtual clock."""

from __future__ import annotations

import pytest

from drover.agent.protocol import NO_ANSWER, NO_CONNECTION, Answer, Heartbeat, Holding, Poll, Report
from drover.agent.session import Session
from drover.simulator.script import Failure
from drover.simulator.work import Hold, Plan

from .world import CONFLICT, GONE, STALE, World, offer

CRASH = Failure("APP_CRASH", "The app closed", 1.0)


def polls_only(world: World, until: float, answer: Answer) -> list[float]:
    world.answer = lambda action, now: answer if isinstance(action, Poll) else None
    return world.live(until).poll_times()


def no_reports(answer: Answer, start: float, end: float):
    """Reports get this answer between two moments; all else is as usual."""
    return lambda action, now: answer if isinstance(action, Report) and start <= now < end else None


def cut_off(start: float, end: float):
    return lambda action, now: NO_CONNECTION if start <= now < end else None


# Heartbeats


@pytest.mark.req("DF-25")
def test_an_agent_beats_every_ten_seconds_and_says_whether_it_is_busy():
    world = World(offer(), plan=Plan(watch_s=25)).live(45)
    beats = [(at, action.status) for at, action in world.said if isinstance(action, Heartbeat)]
    assert beats == [(0, "online"), (10, "busy"), (20, "busy"), (30, "online"), (40, "online")]


def test_a_slow_report_does_not_delay_a_heartbeat():
    world = World(offer())
    world.takes_s = lambda action: 25.0 if isinstance(action, Report) else 0.0
    assert world.live(50).beats() == [0, 10, 20, 30, 40]


@pytest.mark.req("DF-19")
def test_a_throttled_agent_still_beats_and_still_says_how_its_work_ended():
    world = World(offer(), plan=Plan(watch_s=100))
    world.answer = lambda action, now: (
        Answer(429, 60) if isinstance(action, Report) and not action.is_final and action.progress_pct else None
    )
    world.live(101)
    assert world.beats() == [float(at) for at in range(0, 101, 10)]
    assert world.told() == [(0, "running", 0), (10, "running", 10), (70, "running", 70), (100, "completed", 100)]


# Polling


@pytest.mark.req("DF-12")
def test_the_next_poll_comes_when_the_platform_says():
    assert polls_only(World(), 60, Answer(200, poll_after_s=17)) == [0, 17, 34, 51]


@pytest.mark.req("DF-12")
def test_without_a_word_from_the_platform_polls_come_after_5_then_10_then_30_seconds():
    times = polls_only(World(), 160, Answer(200))
    assert times == [0, 5, 10, 20, 30, 40, 50, 60, 70, 80, 110, 140]


@pytest.mark.req("DF-12")
@pytest.mark.parametrize("answer", [Answer(500), Answer(503), NO_ANSWER])
def test_errors_back_off_and_a_good_answer_ends_that(answer):
    assert polls_only(World(), 200, answer) == [0, 5, 15, 35, 75, 135, 195]
    world = World()
    polls_only(world, 20, answer)
    world.answer = lambda action, now: None
    world.live(60)
    assert world.poll_times() == [0, 5, 15, 35, 40, 45, 55]


@pytest.mark.req("DF-12")
def test_found_work_makes_the_polls_quick_again():
    world = World(plan=Plan(watch_s=20)).live(100)
    world.offers.append(offer())
    world.live(180)
    assert world.poll_times()[9:] == [80, 110, 130, 135, 140, 150, 160, 170]
    assert world.told()[-1] == (130, "completed", 100)


@pytest.mark.req("DF-28")
def test_a_429_without_a_time_means_a_minute():
    assert polls_only(World(), 61, Answer(429)) == [0, 60]


@pytest.mark.req("DF-28", "DF-19")
def test_retry_after_is_obeyed_and_three_429_in_a_row_mean_five_minutes():
    assert polls_only(World(), 320, Answer(429, 7)) == [0, 7, 14, 314]


def test_an_agent_with_work_does_not_poll():
    world = World(offer(), plan=Plan(watch_s=100)).live(100)
    assert world.poll_times() == [0]


def test_after_its_work_an_agent_polls_at_once_but_no_sooner_than_it_was_told():
    quick = World(offer(), plan=Plan(watch_s=2)).live(6)
    assert quick.told()[-1] == (2, "completed", 100)
    assert quick.poll_times() == [0, 5]
    assert World(offer(), plan=Plan(watch_s=30)).live(31).poll_times() == [0, 30]


# Reports


@pytest.mark.req("DF-24")
def test_the_first_report_says_when_it_started_and_work_begins_when_that_is_taken():
    world = World(offer(run=4))
    world.answer = no_reports(Answer(503), 0, 5)
    world.live(20)
    assert world.told() == [(0, "running", 0), (5, "running", 0), (15, "running", 10)]
    first, _, later = world.reports()
    assert (first.started_at, first.run, later.started_at) == (0, 4, None)


@pytest.mark.req("DF-24")
def test_progress_is_reported_every_ten_points_when_that_is_sooner():
    world = World(offer(), plan=Plan(watch_s=50)).live(51)
    assert world.told() == [
        *[(5.0 * step, "running", 10 * step) for step in range(10)],
        (50, "completed", 100),
    ]


@pytest.mark.req("DF-24")
def test_progress_is_reported_every_fifteen_seconds_when_that_is_sooner():
    world = World(offer(), plan=Plan(watch_s=600)).live(61)
    assert world.told() == [
        (0, "running", 0),
        (15, "running", 2),
        (30, "running", 5),
        (45, "running", 7),
        (60, "running", 10),
    ]


@pytest.mark.req("DF-24")
def test_completion_and_failure_are_reported_at_once():
    assert World(offer(), plan=Plan(watch_s=33)).live(34).told()[-1] == (33, "completed", 100)
    failing = Plan(watch_s=40, ends_at=0.33, failure=CRASH)
    assert World(offer(), plan=failing).live(34).told()[-1] == (pytest.approx(13.2), "failed", "APP_CRASH")


@pytest.mark.req("DF-24", "DF-26")
def test_a_completion_says_all_that_the_platform_asks_for():
    plan = Plan(watch_s=33.4, did_like=True)
    (*_, done) = World(offer(run=2), plan=plan).live(40).reports()
    assert done == Report(
        "A", 2, "completed", progress_pct=100, actual_duration_sec=33, did_like=True, did_comment=False,
        did_playlist=False, completed_at=33.4,
    )  # fmt: skip


def test_every_report_carries_its_run():
    world = World(offer(run=7), plan=Plan(watch_s=30)).live(40)
    assert {(report.assignment_id, report.run) for report in world.reports()} == {("A", 7)}
    assert len(world.reports()) > 5


def test_work_that_is_done_in_no_time_took_a_second():
    assert World(offer(), plan=Plan(watch_s=0.2)).live(1).reports()[-1].actual_duration_sec == 1


@pytest.mark.req("DF-10")
def test_a_conflict_on_a_final_report_means_that_it_is_done():
    world = World(offer(), plan=Plan(watch_s=20))
    world.answer = lambda action, now: CONFLICT if isinstance(action, Report) and action.is_final else None
    world.live(100)
    assert world.book.ends() == [("completed", "A", 1)]
    assert len([report for report in world.reports() if report.is_final]) == 1
    assert world.store.recall() is None


@pytest.mark.parametrize(
    ("answer", "end"), [(STALE, "stale"), (GONE, "gone"), (CONFLICT, "over"), (Answer(400), "refused")]
)
def test_a_run_that_the_platform_disowns_is_dropped_and_the_agent_polls(answer, end):
    world = World(offer(), plan=Plan(watch_s=100))
    world.answer = no_reports(answer, 30, 31)
    world.live(32)
    assert world.book.ends() == [(end, "A", 1)]
    assert world.told()[-1] == (30, "running", 30)
    assert world.poll_times() == [0, 30]
    assert world.store.recall() is None


@pytest.mark.req("DF-13")
def test_an_assignment_that_comes_again_after_a_rollback_starts_over():
    world = World(offer(run=1), offer(run=2), plan=Plan(watch_s=50))
    world.answer = lambda action, now: STALE if isinstance(action, Report) and action.run == 1 and now >= 20 else None
    world.live(80)
    assert [(at, report.run, report.progress_pct) for at, report in world.timed_reports()][4:7] == [
        (20, 1, 40), (20, 2, 0), (25, 2, 10),
    ]  # fmt: skip
    assert world.book.ends() == [("stale", "A", 1), ("completed", "A", 2)]


@pytest.mark.parametrize("answer", [Answer(503), NO_ANSWER, Answer(401)])
def test_a_final_report_is_repeated_until_it_is_answered(answer):
    world = World(offer(), plan=Plan(watch_s=20))
    world.answer = no_reports(answer, 20, 50)
    world.live(100)
    assert [at for at, status, _ in world.told() if status == "completed"] == [20, 25, 35, 55]
    assert world.book.ends() == [("completed", "A", 1)]


def test_a_run_that_is_offered_twice_is_taken_once():
    world = World(offer(), plan=Plan(watch_s=20), polls=False)
    world.agent.offered(offer(), 0)
    world.live(5)
    world.agent.offered(offer(), 5)
    world.live(30)
    world.agent.offered(offer(), 30)
    world.live(60)
    assert world.book.lines == [
        ("offered", "A", 1), ("began", "A", 1), ("offered again", "A", 1), ("completed", "A", 1),
        ("offered again", "A", 1),
    ]  # fmt: skip


@pytest.mark.req("DF-14")
def test_a_crash_of_the_app_is_reported_and_the_next_attempt_starts_at_zero():
    crashing = Plan(watch_s=50, ends_at=0.5, failure=CRASH)
    world = World(offer(run=1), offer(run=2, retry_count=1), offer(run=3, retry_count=2), plan=crashing).live(100)
    failures = [report for report in world.reports() if report.status == "failed"]
    assert [(report.run, report.error_code, report.error_message) for report in failures] == [
        (1, "APP_CRASH", "The app closed"),
        (2, "APP_CRASH", "The app closed"),
        (3, "APP_CRASH", "YouTube app crashed 3 times consecutively"),
    ]
    begins = [report for report in world.reports() if report.started_at is not None]
    assert [(report.run, report.progress_pct) for report in begins] == [(1, 0), (2, 0), (3, 0)]


# Standstills


@pytest.mark.req("DF-18")
def test_an_advertisement_is_told_with_the_progress_that_it_holds():
    world = World(offer(), plan=Plan(watch_s=40, holds=(Hold(0.5, 60, "ad"),))).live(101)
    playing = [
        (at, report.progress_pct) for at, report in world.said if isinstance(report, Report) and report.ad_playing
    ]
    assert playing == [(20, 50), (35, 50), (50, 50), (65, 50)]
    after = [report for report in world.reports() if report.progress_pct == 60]
    assert [report.ad_playing for report in after] == [False]
    assert world.told()[-1] == (100, "completed", 100)


@pytest.mark.req("DF-18")
@pytest.mark.parametrize(("kind", "after_s"), [("stall", 120), ("ad", 300)])
def test_a_standstill_that_lasts_too_long_is_a_stall(kind, after_s):
    world = World(offer(), plan=Plan(watch_s=40, holds=(Hold(0.5, 1000, kind),))).live(400)
    assert world.told()[-1] == (20 + after_s, "failed", "PLAYBACK_STALLED")


@pytest.mark.req("DF-18")
def test_advertisements_may_hold_a_run_for_five_minutes_in_all():
    twice = Plan(watch_s=40, holds=(Hold(0.25, 200, "ad"), Hold(0.5, 200, "ad")))
    assert World(offer(), plan=twice).live(500).told()[-1] == (10 + 200 + 10 + 100, "failed", "PLAYBACK_STALLED")


@pytest.mark.req("DF-30")
@pytest.mark.parametrize(
    "plan", [Plan(watch_s=40, holds=(Hold(0.5, 1000, "stall"),)), Plan(watch_s=40, ends_at=0.5, failure=CRASH)]
)
def test_a_failure_is_reported_with_the_activity_stack(plan):
    (*_, failed) = World(offer(), plan=plan).live(200).reports()
    assert failed.status == "failed"
    assert failed.activity_stack.splitlines() == ["SimulatedActivity", "SimulatedPlayer"]


@pytest.mark.req("DF-30")
def test_a_popup_that_was_closed_is_told_once():
    world = World(offer(), plan=Plan(watch_s=40, holds=(Hold(0.5, 20, "popup"),))).live(100)
    closed = [
        (at, report.progress_pct) for at, report in world.said if isinstance(report, Report) and report.popup_closed
    ]
    assert closed == [(44, 60)]


def test_a_stall_that_the_agent_does_not_notice_is_reported_as_the_same_progress_on_and_on():
    world = World(offer(), plan=Plan(watch_s=40, holds=(Hold(0.5, 1000, "stall", noticed=False),))).live(215)
    assert set(world.told()[6:]) == {(35.0 + 15 * step, "running", 50) for step in range(12)}


# Without connection


@pytest.mark.req("DF-13", "DF-27")
def test_without_connection_the_agent_goes_on_keeps_its_progress_and_knocks_less_and_less():
    world = World(offer(), plan=Plan(watch_s=200))
    world.answer = cut_off(35, 1000)
    world.live(150)
    assert [at for at, _ in world.said if at >= 35] == [40, 45, 55, 75, 115]
    kept = world.store.recall()
    assert (kept.progress_pct, kept.begun) == (67, True)  # as of 135: every 15 s


@pytest.mark.req("DF-27")
def test_after_five_minutes_without_connection_work_is_paused_and_the_agent_knocks_every_ten_seconds():
    world = World(offer(), plan=Plan(watch_s=1000))
    world.answer = cut_off(35, 1000)
    world.live(500)
    assert [at for at, _ in world.said if at >= 340] == [355, *range(365, 500, 10)]
    assert world.store.recall().progress_pct == 34  # lost at 40, paused at 340


@pytest.mark.req("DF-13", "DF-27")
def test_back_again_stored_progress_is_sent_first_and_work_goes_on_where_it_was():
    world = World(offer(), plan=Plan(watch_s=1000))
    world.answer = cut_off(35, 500)
    world.live(520)
    at, first = next((at, action) for at, action in world.said if at >= 500)
    assert (at, first.status, first.progress_pct, first.run) == (505, "running", 34, 1)
    assert isinstance([action for moment, action in world.said if moment >= 500][1], Heartbeat)
    world.live(1200)
    assert world.told()[-1] == (505 + 660, "completed", 100)  # 340 of 1000 s were done
    assert world.book.lines == [("offered", "A", 1), ("began", "A", 1), ("completed", "A", 1)]


@pytest.mark.req("DF-13")
def test_back_again_after_a_short_loss_nothing_was_lost():
    world = World(offer(), plan=Plan(watch_s=100))
    world.answer = cut_off(35, 60)
    world.live(110)
    assert [one for one in world.told() if one[0] >= 60] == [
        (75, "running", 70), (80, "running", 80), (90, "running", 90), (100, "completed", 100),
    ]  # fmt: skip


@pytest.mark.req("DF-13", "DF-27")
def test_back_again_a_run_that_was_rolled_back_is_started_over():
    world = World(offer(run=1), offer(run=2), plan=Plan(watch_s=100))
    world.answer = lambda action, now: (
        STALE if isinstance(action, Report) and action.run == 1 and now >= 130 else cut_off(35, 130)(action, now)
    )
    world.live(240)
    assert [(at, report.run, report.status) for at, report in world.timed_reports() if at > 130][:3] == [
        (175, 1, "completed"), (175, 2, "running"), (185, 2, "running"),
    ]  # fmt: skip
    assert world.book.ends() == [("stale", "A", 1)]


@pytest.mark.req("DF-27")
def test_work_that_ended_without_connection_is_reported_before_anything_else():
    world = World(offer(), plan=Plan(watch_s=60))
    world.answer = cut_off(35, 200)
    world.live(240)
    assert next(action for at, action in world.said if at >= 200).status == "completed"
    assert world.reports()[-1].completed_at == 60


def test_two_actions_that_are_lost_at_once_count_as_one_loss():
    world = World()
    world.takes_s = lambda action: 3.0 if isinstance(action, Poll) else 0.0
    world.answer = cut_off(8, 1000)  # a poll leaves at 8 and is lost at 11; meanwhile a heartbeat is, at 10
    world.live(90)
    assert [at for at, _ in world.said if at > 8] == [10, 15, 25, 45, 85]


def test_without_work_the_heartbeat_knocks_alone():
    world = World()
    world.answer = cut_off(12, 40)
    world.live(60)
    assert [(at, type(action)) for at, action in world.said if at >= 12] == [
        (20, Heartbeat), (25, Heartbeat), (35, Heartbeat), (55, Heartbeat), (55, Poll),
    ]  # fmt: skip


# A crash of the agent itself


@pytest.mark.req("DF-13", "DF-27")
def test_an_agent_that_crashed_resumes_from_its_store():
    world = World(offer(), plan=Plan(watch_s=100)).live(47)
    world.now = 80
    world.start()
    world.live(200)
    assert [one for one in world.told() if one[0] >= 80][:3] == [
        (80, "running", 40), (90, "running", 50), (100, "running", 60),
    ]  # fmt: skip
    assert world.told()[-1] == (140, "completed", 100)
    assert world.poll_times()[1] == 140
    assert world.book.lines == [("offered", "A", 1), ("began", "A", 1), ("resumed", "A", 1), ("completed", "A", 1)]


@pytest.mark.req("DF-13")
def test_an_agent_that_crashed_for_too_long_drops_what_is_no_longer_its_own():
    world = World(offer(), plan=Plan(watch_s=100)).live(47)
    world.now = 200
    world.start()
    world.answer = no_reports(STALE, 0, 300)
    world.live(250)
    assert world.book.ends() == [("stale", "A", 1)]
    assert world.store.recall() is None


def test_an_agent_that_crashed_after_its_first_report_was_taken_does_not_start_anew():
    world = World(offer()).live(4)
    world.start()
    world.live(20)
    assert [report.started_at for report in world.reports()] == [0, None, None]


def test_an_agent_that_crashed_before_its_first_report_was_taken_makes_that_report():
    world = World(offer())
    world.answer = no_reports(Answer(503), 0, 10)
    world.live(3)
    world.start()
    world.answer = lambda action, now: None
    world.live(20)
    assert world.told() == [(0, "running", 0), (3, "running", 0), (13, "running", 10)]


def test_an_agent_that_crashed_with_a_final_report_unanswered_sends_it_again():
    world = World(offer(), plan=Plan(watch_s=20))
    world.answer = no_reports(Answer(503), 20, 30)
    world.live(22)
    world.now = 60
    world.start()
    world.live(90)
    assert [one for one in world.told() if one[0] >= 20] == [(20, "completed", 100), (60, "completed", 100)]
    assert world.reports()[-1].completed_at == 20


# Sockets


def pushed(plan: Plan = Plan(watch_s=100)) -> World:  # noqa: B008
    world = World(plan=plan, polls=False)
    world.live(1)
    world.agent.offered(offer(), 1)
    return world


def test_an_agent_that_is_pushed_its_work_never_polls():
    world = pushed().live(300)
    assert world.poll_times() == []
    assert world.told()[-1] == (101, "completed", 100)


def test_an_offer_that_overtakes_the_answer_to_the_last_report_is_kept():
    world = pushed(Plan(watch_s=20))
    world.takes_s = lambda action: 3.0 if isinstance(action, Report) and action.is_final else 0.0
    world.live(22)
    world.agent.offered(offer("B"), 22)
    world.live(30)
    assert world.told()[-4:-1] == [(21, "completed", 100), (24, "running", 0), (26, "running", 10)]
    assert world.book.lines[-3:] == [("offered", "B", 1), ("completed", "A", 1), ("began", "B", 1)]


def test_a_later_run_of_the_same_assignment_takes_the_place_of_the_earlier():
    world = pushed().live(45)
    world.agent.offered(offer(run=2), 45)
    world.live(56)
    assert [(report.run, report.progress_pct) for report in world.reports()][-2:] == [(2, 0), (2, 10)]
    assert world.book.ends() == [("superseded", "A", 1)]


@pytest.mark.parametrize("run", [1, 2])
def test_a_withdrawn_run_is_stopped(run):
    world = pushed().live(45)
    world.agent.withdrawn("A", run, 45)
    world.live(200)
    assert world.told()[-1] == (41, "running", 40)
    assert world.book.ends() == [("withdrawn", "A", 1)]


def test_the_withdrawal_of_another_run_or_assignment_changes_nothing():
    world = pushed()
    world.agent.offered(offer(run=3), 1)
    world.agent.withdrawn("A", 2, 2)
    world.agent.withdrawn("B", 3, 2)
    assert world.live(120).told()[-1] == (101, "completed", 100)


def test_a_final_report_that_crosses_a_withdrawal_is_settled_by_its_answer():
    world = pushed(Plan(watch_s=20))
    world.takes_s = lambda action: 3.0 if isinstance(action, Report) and action.is_final else 0.0
    world.live(22)
    world.agent.withdrawn("A", 1, 22)
    world.live(30)
    assert world.book.ends() == [("completed", "A", 1)]


@pytest.mark.req("DF-27")
def test_on_a_new_socket_the_agent_says_what_it_holds_and_goes_on_if_it_may():
    world = pushed(Plan(watch_s=1000))
    world.answer = cut_off(30, 400)
    world.live(400)
    world.answer = lambda action, now: None
    assert world.agent.holding() == Holding("A", 1, 32)  # from 1 to 330, when it was paused
    world.agent.connected(400)
    world.agent.judged("A", 1, True, 400)
    world.live(1200)
    assert world.told()[-1] == (400 + 1000 - 329, "completed", 100)


def test_a_run_that_is_to_be_dropped_is_forgotten():
    world = pushed().live(45)
    world.agent.judged("A", 1, False, 45)
    world.live(200)
    assert world.told()[-1] == (41, "running", 40)
    assert world.book.ends() == [("dropped", "A", 1)]
    assert world.store.recall() is None


def test_a_final_report_without_an_answer_is_sent_again_on_the_next_socket_whatever_the_verdict():
    world = pushed(Plan(watch_s=20))
    world.answer = lambda action, now: NO_CONNECTION if isinstance(action, Report) and action.is_final else None
    world.live(22)
    world.answer = lambda action, now: CONFLICT if isinstance(action, Report) else None
    world.agent.connected(22)
    world.agent.judged("A", 1, False, 22)
    world.live(23)
    assert [one for one in world.told() if one[1] == "completed"] == [(21, "completed", 100), (22, "completed", 100)]
    assert world.book.ends() == [("completed", "A", 1)]


def test_an_agent_is_a_pure_machine_that_wants_nothing_before_its_time():
    world = World(offer())
    world.live(47)
    agent: Session = world.agent
    assert agent.due_at == 50
    assert agent.next_action(49.9) is None
