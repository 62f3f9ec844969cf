"""The simulated watching: what comes of it, how often, and always the same for the same seed."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from drover.agent.protocol import Job, Offer
from drover.simulator.script import CALM, DEMO, ROUGH, Failure, Show, Standstill
from drover.simulator.work import Hold, Plan, Watching, player

VERIFIED = ("age_verified",)


def job(number: int, **fields) -> Job:
    return Job(f"https://www.youtube.com/watch?v=simulated-{number:04d}", **fields)


def plans(show: Show, capabilities: tuple[str, ...] = (), *, runs: int = 2000, seed: int = 1) -> list[Plan]:
    play = player(show, "SIM00001P001D001", capabilities, seed)
    return [play(Offer("A", "D", 1, job(number))) for number in range(runs)]


def codes(of: list[Plan]) -> Counter:
    return Counter(plan.failure.code if plan.failure else None for plan in of)


def test_the_same_phone_video_and_run_always_go_the_same_way():
    assert plans(DEMO.show) == plans(DEMO.show)
    assert plans(DEMO.show) != plans(DEMO.show, seed=2)
    play = player(DEMO.show, "SIM00001P001D001", (), 1)
    assert play(Offer("A", "D", 1, job(1))) == play(Offer("another assignment", "D", 1, job(1)))
    assert play(Offer("A", "D", 1, job(1))) != play(Offer("A", "D", 2, job(1)))
    assert play(Offer("A", "D", 1, job(1))) != player(DEMO.show, "SIM00001P001D002", (), 1)(Offer("A", "D", 1, job(1)))


def test_work_takes_5_to_40_seconds():
    times = [plan.watch_s for plan in plans(CALM.show)]
    assert 4.8 <= min(times) < 8
    assert 35 < max(times) <= 40.5


def test_the_share_of_the_video_that_is_watched_is_the_jobs():
    play = player(Show(video_s=(100, 100)), "S", (), 1)
    watched = [play(Offer("A", "D", 1, job(n, duration_min_pct=40, duration_max_pct=60))).watch_s for n in range(500)]
    assert 40 <= min(watched) < 42
    assert 58 < max(watched) <= 60


def test_likes_follow_the_jobs_probabilities():
    play = player(CALM.show, "S", (), 1)
    chosen = [play(Offer("A", "D", 1, job(n, prob_like=80, prob_comment=20, prob_playlist=0))) for n in range(2000)]
    assert 1500 < sum(plan.did_like for plan in chosen) < 1700
    assert 320 < sum(plan.did_comment for plan in chosen) < 480
    assert not any(plan.did_playlist for plan in chosen)


def test_nothing_goes_wrong_on_a_calm_farm():
    assert codes(plans(CALM.show)) == {None: 2000}
    assert not any(plan.holds for plan in plans(CALM.show))


def test_runs_fail_as_often_as_the_script_says():
    show = Show(failures=(Failure("APP_CRASH", "m", 0.1), Failure("E4001", "m", 0.05)))
    counts = codes(plans(show, runs=5000))
    assert 430 < counts["APP_CRASH"] < 570
    assert 190 < counts["E4001"] < 310


@pytest.mark.req("DF-15")
def test_a_video_that_is_unavailable_is_so_for_every_phone():
    show = Show(unavailable=0.05)
    bad = [number for number, plan in enumerate(plans(show)) if plan.failure]
    assert 60 < len(bad) < 140
    other = player(show, "SIM00001P009D009", VERIFIED, 1)
    assert all(other(Offer("A", "D", 1, job(number))).failure.code == "VIDEO_UNAVAILABLE" for number in bad)


@pytest.mark.req("DF-16")
def test_age_restricted_videos_fail_on_phones_without_the_capability_alone():
    show = Show(age_restricted=0.05)
    assert 60 < codes(plans(show))["VIDEO_AGE_RESTRICTED"] < 140
    assert codes(plans(show, VERIFIED)) == {None: 2000}


def test_standstills_come_as_often_and_last_as_long_as_the_script_says():
    show = Show(standstills=(Standstill("ad", 0.3, (5, 9)), Standstill("stall", 0.1, (200, 300), noticed=False)))
    holds = [hold for plan in plans(show) for hold in plan.holds]
    kinds = Counter(hold.kind for hold in holds)
    assert 520 < kinds["ad"] < 680
    assert 150 < kinds["stall"] < 250
    assert all(5 <= hold.lasts_s <= 9 for hold in holds if hold.kind == "ad")
    assert all(not hold.noticed for hold in holds if hold.kind == "stall")


@pytest.mark.parametrize("script", [DEMO, ROUGH])
def test_the_scripts_for_demo_and_soak_have_every_trouble(script):
    happened = plans(script.show, runs=6000)
    assert {"APP_CRASH", "VIDEO_NETWORK_ERROR", "E4001", "VIDEO_UNAVAILABLE", "VIDEO_AGE_RESTRICTED"} < set(
        codes(happened)
    )
    assert {hold.kind for plan in happened for hold in plan.holds} == {"ad", "popup", "stall"}
    assert {fault.name for fault in script.phone_faults} == {"no network", "crashed"}
    assert script.post.repeated and script.post.late


def test_progress_goes_with_the_clock_and_stands_still_in_a_hold():
    watching = Watching(Plan(watch_s=100, holds=(Hold(0.25, 10, "ad"), Hold(0.5, 20, "stall"))))
    watching.resume(1000)
    progress = {at: watching.progress_pct(1000 + at) for at in (0, 24, 25, 34, 36, 59, 60, 79, 81, 130, 500)}
    assert progress == {0: 0, 24: 24, 25: 25, 34: 25, 36: 26, 59: 49, 60: 50, 79: 50, 81: 51, 130: 100, 500: 100}
    assert [watching.ad_playing(1000 + at) for at in (24, 25, 34, 36, 65)] == [False, True, True, False, False]
    assert watching.over_at() == 1130
    assert [watching.reaches_at(pct) for pct in (10, 25, 26, 50, 60)] == [1010, 1025, 1036, 1060, 1090]


def test_a_paused_run_stands_where_it_was_and_has_no_end():
    watching = Watching(Plan(watch_s=100))
    watching.resume(0)
    watching.pause(30)
    assert watching.progress_pct(500) == 30
    assert watching.over_at() == math.inf
    watching.resume(500)
    assert watching.over_at() == 570
    watching.resume(520)  # it runs already
    assert watching.over_at() == 570


def test_a_run_that_fails_goes_no_further():
    watching = Watching(Plan(watch_s=100, ends_at=0.3, failure=Failure("APP_CRASH", "m", 1)))
    watching.resume(0)
    assert watching.over_at() == 30
    assert watching.reaches_at(31) == math.inf
    assert watching.progress_pct(90) == 30
