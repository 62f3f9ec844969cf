"""Schedule, latencies, tally and ledger: the small bookkeeping of the farm."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from random import Random

import pytest

from drover.agent.observer import End
from drover.agent.protocol import DONE, NO_ANSWER, NO_CONNECTION, Answer, Heartbeat, Poll, Report
from drover.simulator.latency import Latency
from drover.simulator.ledger import Ledger
from drover.simulator.phone import Errand, Identity
from drover.simulator.schedule import Schedule
from drover.simulator.tally import Tally

from .world import CONFLICT, STALE, offer

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
DONE_REPORT = Report("A", 1, "completed", progress_pct=100)
CRASHED = Report("A", 1, "failed", error_code="APP_CRASH")


def test_the_schedule_gives_the_earliest_first_and_everybody_once():
    schedule = Schedule(3)
    assert schedule.first_at() == math.inf
    assert schedule.set(0, 5.0)
    assert not schedule.set(1, 7.0)
    assert schedule.set(1, 3.0)
    assert not schedule.set(0, math.inf)
    assert schedule.pop() == (3.0, 1)
    assert schedule.first_at() == math.inf
    schedule.set(2, 9.0)
    schedule.set(2, 4.0)
    schedule.set(2, 9.0)
    assert schedule.pop() == (9.0, 2)
    assert schedule.first_at() == math.inf


def test_the_schedule_does_not_grow_with_the_changes_made_to_it():
    schedule, dice = Schedule(10), Random(1)
    moments = [0.0] * 10
    for _ in range(20_000):
        number, moments[number] = (number := dice.randrange(10)), dice.random()
        schedule.set(number, moments[number])
    assert len(schedule._heap) < 1100
    assert schedule.first_at() == min(at for at in moments if at)


def test_quantiles_are_right_to_a_tenth():
    latency, dice = Latency(), Random(1)
    times = sorted(dice.expovariate(10) for _ in range(5000))
    for seconds in times:
        latency.add(seconds)
    assert latency.quantile(0.5) == pytest.approx(times[2500], rel=0.11)
    assert latency.quantile(0.99) == pytest.approx(times[4950], rel=0.11)
    assert latency.summary()["count"] == 5000
    latency.add(1e6)
    assert latency.max_s == 1e6
    assert Latency().quantile(0.5) is None


def test_the_tally_counts_work_answers_and_refusals():
    tally = Tally()
    observer = tally.observer(Identity("S", "P1-G1", "PC-01"))
    observer.offered(offer(), False)
    observer.offered(offer(), True)
    observer.began(offer())
    observer.ended(offer(), End.FAILED, CRASHED, DONE)
    observer.ended(offer(), End.COMPLETED, DONE_REPORT, DONE)
    for errand, answer in [
        (Errand(Heartbeat("online"), 1), DONE),
        (Errand(Poll(), 1), NO_ANSWER),
        (Errand(DONE_REPORT, 1), STALE),
        (Errand(DONE_REPORT, 1, repeated=True), CONFLICT),
        (Errand(CRASHED, 1), NO_CONNECTION),
        (Errand(CRASHED, 1), Answer(429)),
    ]:
        tally.answered(errand, answer)
    told = tally.summary([], 0)
    assert told["work"] == {
        "offers": 1, "offers repeated": 1, "runs": 1, "failed APP_CRASH": 1, "completed": 1,
        "reports refused STALE_ATTEMPT": 1, "reports refused CONFLICT": 1, "reports repeated": 1,
    }  # fmt: skip
    assert told["answers"] == {
        "heartbeat 204": 1, "poll no answer": 1, "completed 409": 2, "failed no connection": 1, "failed 429": 1,
    }  # fmt: skip
    assert tally.summary([], 0)["work"] == {}
    assert tally.total["runs"] == 1


def test_the_ledger_says_of_every_run_how_it_ended_and_what_the_platform_said(tmp_path):
    ledger = Ledger(lambda: NOW)
    for name in "ABCDE":
        ledger.began("S", offer(name))
    ledger.ended(offer("A"), End.COMPLETED, DONE_REPORT, DONE)
    ledger.ended(offer("B"), End.FAILED, CRASHED, CONFLICT)
    ledger.ended(offer("C"), End.STALE, DONE_REPORT, STALE)
    ledger.ended(offer("D"), End.WITHDRAWN, None, None)
    ledger.resumed("S", offer("E"))
    ledger.resumed("S", offer("F", run=2))
    ledger.ended(offer("nobody began it"), End.STALE, None, STALE)
    assert [(run.assignment_id, run.end, run.said, run.error_code, run.receipt) for run in ledger.runs()] == [
        ("A", "completed", "completed", None, "recorded"),
        ("B", "failed", "failed", "APP_CRASH", "conflict"),
        ("C", "stale", "completed", None, "refused"),
        ("D", "withdrawn", None, None, None),
        ("E", None, None, None, None),
        ("F", None, None, None, None),
    ]
    ledger.write(tmp_path / "ledger.json", seed=7)
    written = json.loads((tmp_path / "ledger.json").read_text())
    assert (written["seed"], written["left_out"], len(written["runs"])) == (7, 0, 6)
    assert written["runs"][5] == {
        "assignment_id": "F", "run": 2, "device_id": "D", "serial_number": "S", "began_at": "2026-01-05T12:00:00Z",
        "resumed": 1,
    }  # fmt: skip
    assert json.loads(_written(Ledger(lambda: NOW), tmp_path))["runs"] == []


def _written(ledger: Ledger, folder) -> str:
    ledger.write(folder / "empty.json")
    return (folder / "empty.json").read_text()


def test_the_ledger_has_an_end_and_counts_what_it_leaves_out():
    ledger = Ledger(lambda: NOW, runs_max=2)
    for name in "ABC":
        ledger.began("S", offer(name))
    ledger.ended(offer("C"), End.COMPLETED, DONE_REPORT, DONE)
    assert (len(ledger.runs()), ledger.left_out) == (2, 1)
