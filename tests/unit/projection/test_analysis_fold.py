"""The read model of analyses: what rows follow from which events, and that they say what the decider knows."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import commands as c
from drover.domain.analysis import events as e
from drover.domain.analysis.state import TestStatus
from drover.domain.event import Event
from drover.eventlog.codec import Codec
from drover.projector.analysis import ANALYSIS_PROJECTION
from drover.projector.analysis.projection import RULES
from drover.readmodel.analysis.cleanups import RUN_TESTS, RUNS
from drover.readmodel.analysis.users import LEDGER, TESTS, USERS
from drover.readmodel.events import EVENTS
from drover.testing.scenario import Scenario
from tests.unit.projection.checked_tables import CheckedTables, minute, stamp

CODEC = Codec.of(ANALYSIS)
ANN = "user_ann"
T1, T2 = (str(UUID(int=number, version=4)) for number in (1, 2))
R1 = str(UUID(int=9, version=4))


class AnalysisTables(CheckedTables):
    def only(self, table: Any) -> dict[str, Any]:
        (row,) = self.shown(table)
        return row


def folded(*events: Event) -> AnalysisTables:
    tables = AnalysisTables(ANALYSIS_PROJECTION)
    stamp(events)
    tables.fold_events(7, *events)
    return tables


def test_every_event_has_its_rule():
    assert RULES.keys() == {*ANALYSIS.events.__args__}


def begun(*events: Event) -> AnalysisTables:
    """Ann, with two tests left, starts one: minutes 1 to 3. Then these events, from minute 4 on."""
    return folded(e.UserRegistered(ANN, "free", 2), e.TestStarted(T1, ANN), e.TestCharged(T1, ANN, 1), *events)


@pytest.mark.req("SY-01", "SY-23")
def test_a_test_under_way():
    tables = begun()
    assert tables.only(TESTS) == {
        "id": UUID(T1),
        "user_id": ANN,
        "status": "processing",
        "reason": None,
        "error_code": None,
        "error_message": None,
        "result_ref": None,
        "refunded": False,
        "cleanup_run_id": None,
        "skipped": None,
        "late_report": None,
        "created_at": minute(2),
        "updated_at": minute(2),
        "completed_at": None,
    }
    user = tables.only(USERS)
    assert (user["remaining_tests"], user["granted"], user["charged"], user["refunded"]) == (1, 2, 1, 0)
    assert (user["created_at"], user["updated_at"]) == (minute(1), minute(3))


@pytest.mark.req("SY-02", "SY-07", "SY-23")
def test_a_cleaned_test_its_user_its_ledger_and_its_run():
    message = "시스템 타임아웃으로 자동 정리됨"
    tables = begun(
        e.CleanupRunStarted(R1, "cron", minute(0), minute(3), {"gold": minute(1)}, True, by="cron"),
        e.TestFailed(T1, ANN, "timeout", None, message, R1),
        e.TestRefunded(T1, ANN, 2, R1),
        e.UserNotificationRequested(R1, ANN, R1, 1),
        e.CleanupRunFinished(R1, 1, 0, 1, 250),
    )
    test = tables.only(TESTS)
    assert (test["status"], test["error_message"], test["reason"]) == ("failed", message, "timeout")
    assert (test["refunded"], test["cleanup_run_id"]) == (True, UUID(R1))
    assert (test["updated_at"], test["completed_at"]) == (minute(6), minute(5))
    user = tables.only(USERS)
    assert (user["remaining_tests"], user["refunded"], user["updated_at"]) == (2, 1, minute(6))
    run = tables.only(RUNS)
    assert (run["trigger"], run["by"], run["status"], run["scheduled_for"]) == ("cron", "cron", "finished", minute(0))
    assert (run["cleaned_count"], run["skipped_count"], run["users_count"], run["duration_ms"]) == (1, 0, 1, 250)
    assert (run["started_at"], run["finished_at"]) == (minute(4), minute(8))
    found = tables.only(RUN_TESTS)
    assert (found["run_id"], found["test_id"], found["user_id"]) == (UUID(R1), UUID(T1), ANN)
    assert (found["outcome"], found["reason"]) == ("cleaned", None)
    assert [(row["kind"], row["amount"], row["remaining_tests"], row["test_id"]) for row in tables.shown(LEDGER)] == [
        ("initial", 2, 2, None),
        ("charge", -1, 1, UUID(T1)),
        ("refund", 1, 2, UUID(T1)),
    ]
    assert tables.shown(LEDGER)[-1]["cleanup_run_id"] == UUID(R1)


@pytest.mark.req("SY-06", "SY-07")
def test_a_skipped_test_is_on_record_and_processing():
    tables = begun(
        e.UserFrozen(ANN),
        e.CleanupRunStarted(R1, "manual", None, minute(3), {}, True),
        e.TestSkipped(T1, ANN, "frozen", R1),
        e.CleanupRunFinished(R1, 0, 1, 0, 0),
        AlertRaised("a1", "cleanup_failed", "cleanup-tests", "…", {}),
        e.UserUnfrozen(ANN),
        e.TestCompleted(T1, ANN, "results/1"),
        AlertResolved("a1", "cleanup_failed", "cleanup-tests", "a clean run"),
    )
    found = tables.only(RUN_TESTS)
    assert (found["outcome"], found["reason"]) == ("skipped", "frozen")
    test = tables.only(TESTS)
    assert (test["status"], test["skipped"], test["result_ref"]) == ("completed", None, "results/1")
    assert tables.only(USERS)["frozen"] is False


def test_a_failure_that_a_worker_reported_belongs_to_no_cleanup():
    tables = begun(e.TestFailed(T1, ANN, "worker", "E1", "no", None), e.TestRefunded(T1, ANN, 2, None))
    assert tables.rows(RUN_TESTS) == []
    assert tables.only(TESTS)["error_code"] == "E1"
    tables = begun(e.TestSkipped(T1, ANN, "frozen", None))
    assert tables.rows(RUN_TESTS) == []
    assert tables.only(TESTS)["skipped"] == "frozen"


@pytest.mark.req("DI-05")
def test_a_recorded_test_has_its_own_start_and_a_written_balance_is_an_entry():
    tables = folded(
        e.UserRegistered(ANN, "free", 2),
        e.TestRecorded(T1, ANN, minute(0)),
        e.TestsAdjusted(ANN, -1, 1),
        e.TestFailed(T1, ANN, "caller", None, "no answer", None),
    )
    test, user = tables.only(TESTS), tables.only(USERS)
    assert (test["created_at"], test["updated_at"], test["completed_at"]) == (minute(0), minute(4), minute(4))
    assert (test["status"], test["reason"], test["refunded"]) == ("failed", "caller", False)
    assert (user["remaining_tests"], user["granted"], user["adjusted"], user["charged"]) == (1, 2, -1, 0)
    assert [(row["kind"], row["amount"], row["remaining_tests"]) for row in tables.shown(LEDGER)] == [
        ("initial", 2, 2),
        ("adjustment", -1, 1),
    ]


def test_a_late_report_shows_and_changes_nothing_else():
    tables = begun(e.TestCompleted(T1, ANN, None), e.LateReportRefused(T1, ANN, "failed", "completed", False))
    test = tables.only(TESTS)
    assert (test["status"], test["late_report"], test["updated_at"]) == ("completed", "failed", minute(5))


def test_an_archived_test_keeps_its_row():
    tables = begun(e.TestCompleted(T1, ANN, None), e.TestArchived(T1))
    assert tables.only(TESTS)["status"] == "completed"


def test_a_text_that_postgres_cannot_hold_is_shown_without_it():
    tables = begun(e.TestFailed(T1, ANN, "worker", None, "a\0b", None))
    assert tables.only(TESTS)["error_message"] == "a�b"
    assert "\\u0000" not in tables.shown(EVENTS)[-1]["data"]


@pytest.mark.req("SY-15")
def test_no_row_has_a_place_for_a_name_or_an_address():
    for table in ANALYSIS_PROJECTION.tables:
        for column in table.columns:
            assert not any(word in column for word in ("name", "mail", "phone", "birth")), f"{table.name}.{column}"


class Walk:
    """Anything that can be asked for, at random, into decider and tables."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.scenario = Scenario(ANALYSIS)
        self.tables = AnalysisTables(ANALYSIS_PROJECTION)
        self.seq = self.ids = 0
        self.recorded: set[str] = set()
        for number in range(4):
            self.do(c.RegisterUser(f"user_{number}", 5, self.dice.choice(["free", "gold"])))

    def new_id(self) -> str:
        self.ids += 1
        return str(UUID(int=self.ids, version=4))

    def do(self, command: Any) -> None:
        events = self.scenario.when(command).decision.events
        self.tables.fold_events(self.seq + 1, *events)
        self.seq += len(events)

    def step(self) -> None:
        dice, state = self.dice, self.scenario.state
        user = dice.choice([*state.users])
        tests = [*state.tests, *state.ended]
        match dice.randrange(11):
            case 0 | 1 | 2:
                self.do(c.StartTest(self.new_id(), user))
            case 3 if tests:
                self.do(c.CompleteTest(dice.choice(tests), dice.choice([None, "r/1"])))
            case 4 if tests:
                self.do(c.FailTest(dice.choice(tests), None, "no"))
            case 5:
                grant, tier = dice.choice([None, 2]), dice.choice([None, "free", "gold"])
                self.do(c.ChangeUser(user, tier, dice.choice([None, True, False, False]), grant))
            case 6:
                test, ago = self.new_id(), timedelta(minutes=dice.choice([0, 20, 40]))
                status = dice.choice([TestStatus.PROCESSING, *TestStatus])
                self.recorded.add(test)
                self.do(c.RecordTest(test, user, status, self.scenario.now - ago))
            case 7 if tests:
                self.do(c.ChangeTest(dice.choice(tests), dice.choice([*TestStatus])))
            case 8:
                self.do(c.ChangeUser(user, remaining_tests=dice.randrange(5)))
            case 9:
                self.do(c.Cleanup(self.new_id(), timeout_s=dice.choice([60, 1800])))
            case _:
                self.scenario.after(minutes=dice.choice([1, 10, 600]))
                events = self.scenario.ticked().decision.events
                self.tables.fold_events(self.seq + 1, *events)
                self.seq += len(events)


@pytest.mark.req("EV-03")
@pytest.mark.parametrize("seed", range(4))
def test_decider_and_read_model_are_two_folds_of_one_log_and_say_the_same(seed):
    walk = Walk(seed)
    for _ in range(600):
        walk.step()
    state, tables = walk.scenario.state, walk.tables
    users = {row["id"]: row for row in tables.shown(USERS)}
    assert users.keys() == state.users.keys()
    for user in state.users.values():
        row = users[user.user_id]
        assert (row["tier"], row["frozen"]) == (user.tier, user.frozen)
        assert row["remaining_tests"] == user.remaining
        assert user.remaining == row["granted"] + row["adjusted"] - row["charged"] + row["refunded"]
        mine = [entry for entry in tables.shown(LEDGER) if entry["user_id"] == user.user_id]
        assert sum(entry["amount"] for entry in mine) == user.remaining == mine[-1]["remaining_tests"]
    tests = {str(row["id"]): row for row in tables.shown(TESTS)}
    assert {test for test, row in tests.items() if row["status"] == "processing"} == state.tests.keys()
    for test_id, ended in state.ended.items():
        row = tests[test_id]
        assert (row["status"], row["refunded"]) == (ended.status, ended.refunded)
        assert (row["late_report"] is not None) is ended.late_noted
    charges = [row["test_id"] for row in tables.shown(LEDGER) if row["kind"] == "charge"]
    refunds = [row["test_id"] for row in tables.shown(LEDGER) if row["kind"] == "refund"]
    assert len(charges) == len({*charges}) and len(refunds) == len({*refunds})
    recorded = {*map(UUID, walk.recorded)}
    assert not recorded & {*charges} and {*refunds} <= {*charges} | recorded
    runs = {str(row["id"]): row for row in tables.shown(RUNS)}
    for run in state.runs.values():
        row = runs[run.run_id]
        found = [entry for entry in tables.shown(RUN_TESTS) if str(entry["run_id"]) == run.run_id]
        cleaned = [entry for entry in found if entry["outcome"] == "cleaned"]
        assert (row["cleaned_count"], row["skipped_count"]) == (len(cleaned), len(found) - len(cleaned))
        assert {entry["user_id"] for entry in cleaned} == {*run.users}
        assert (row["users_count"], row["duration_ms"]) == (len(run.users), run.duration_ms)
