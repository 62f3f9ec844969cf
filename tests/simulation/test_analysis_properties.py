"""Any sequence of starts, ends, cleanups and late reports, at any time: the ledger balances after each of them."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from drover.domain.analysis import ANALYSIS, cleanup, evolution, ledger, users
from drover.domain.analysis import commands as c
from drover.domain.analysis.state import TestStatus
from drover.domain.decider import DECISION_BYTES_MAX, EVENTS_PER_DECISION_MAX, Rejection, Tick
from drover.eventlog.codec import Codec
from tests.simulation import analysis_invariants
from tests.simulation.analysis_ledger import Books

TICKS_MAX = 500
TIERS = ["free", "premium", "gold"]
BALANCE_MAX = 6
"""Instead of a million: so that refunds meet it."""


def uuid(kind: int, number: int) -> str:
    return f"00000000-0000-7000-8000-{kind:04d}{number:08d}"


class Office(RuleBasedStateMachine):
    """A few users and all that they, their workers, the back office, cron and the clock can do."""

    settles_after_each = True

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
        self.state = ANALYSIS.initial()
        self.codec = Codec.of(ANALYSIS)
        self.books = Books()
        self.n = self.ids = 0
        self.given_back_by_caller: set[str] = set()

    # The writer's part

    def send(self, command):
        decision = ANALYSIS.decide(self.state, command, self.now)
        rejection, result = decision.rejection, decision.result
        events = []
        while True:
            for event in decision.events:
                self.n += 1
                event.n, event.at = self.n, self.now
                (event,) = self.codec.decode(self.codec.encode([event]))
                self.state = ANALYSIS.evolve(self.state, event)
                events.append(event)
            if decision.then is None:
                break
            decision = decision.then(self.state, self.now)
        assert len(events) <= EVENTS_PER_DECISION_MAX
        assert len(self.codec.encode(events)) <= DECISION_BYTES_MAX
        self.books.see(*events)
        analysis_invariants.check(self.state, self.books)
        assert not self.books.refunds.keys() & self.given_back_by_caller, "given back by Drover and by the caller"
        told = ANALYSIS.answer(events) if events else result
        assert (told if isinstance(told, Rejection) else None) == (rejection if events else None)
        self.events = events
        return rejection or told

    def do(self, command):
        told = self.send(command)
        if self.settles_after_each or self.n % 3 == 0:
            self.settle()
        return told

    def settle(self) -> None:
        for _ in range(TICKS_MAX):
            deadline = ANALYSIS.next_deadline(self.state)
            if deadline is None or deadline > self.now:
                return
            self.send(Tick())
            assert self.events, f"no headway on {deadline}"
        raise AssertionError("something is due for ever")

    def pick(self, data, items):
        return data.draw(st.sampled_from(sorted(items)))

    # What can happen

    @initialize(data=st.data())
    def some_users(self, data) -> None:
        for number in range(data.draw(st.integers(1, 4))):
            tests = data.draw(st.integers(0, BALANCE_MAX))
            self.do(c.RegisterUser(f"user_{number}", tests, data.draw(st.sampled_from(TIERS))))

    @rule(data=st.data(), tests=st.integers(1, 4))
    def somebody_starts_tests(self, data, tests) -> None:
        user = self.pick(data, self.state.users)
        for _ in range(tests):
            self.ids += 1
            had = self.books.balance(user)
            told = self.do(c.StartTest(uuid(1, self.ids), user))
            if had == 0 and not self.state.users[user].frozen:
                assert told.code == "NO_TESTS_LEFT"

    @precondition(lambda self: self.books.started)
    @rule(data=st.data(), ends=st.sampled_from([c.CompleteTest, c.FailTest]))
    def a_worker_reports_in_time_or_late_or_again(self, data, ends) -> None:
        test = self.pick(data, self.books.started)
        first = self.do(ends(test))
        second = self.do(ends(test))
        assert isinstance(second, Rejection)
        if isinstance(first, Rejection):
            assert first == second, "a repeat is told the same"

    @precondition(lambda self: self.state.tests)
    @rule(data=st.data(), ends=st.sampled_from([c.CompleteTest, c.FailTest]))
    def a_worker_reports_in_time(self, data, ends) -> None:
        self.do(ends(self.pick(data, self.state.tests)))

    # What a back end does that writes the tables: it charges and gives back by itself

    def write_balance(self, user, by) -> None:
        """Read the balance, then write it with the difference, as 001 does."""
        wanted = self.books.balance(user) + by
        self.do(c.ChangeUser(user, remaining_tests=wanted))
        if self.settles_after_each:
            assert self.books.balance(user) == max(0, wanted)

    @rule(data=st.data(), minutes=st.lists(st.integers(0, 90), min_size=1, max_size=3), charges=st.booleans())
    def a_caller_records_tests(self, data, minutes, charges) -> None:
        """`charges`: it does so now; otherwise it did so before it moved over."""
        user = self.pick(data, self.state.users)
        for ago in minutes:
            self.ids += 1
            test, had = uuid(1, self.ids), self.books.balance(user)
            told = self.do(c.RecordTest(test, user, created_at=self.now - timedelta(minutes=ago)))
            if isinstance(told, Rejection):
                assert self.state.users[user].frozen
                continue
            if self.settles_after_each:
                assert self.books.balance(user) == had, "only the caller charges"
            if charges:
                self.write_balance(user, -1)

    @precondition(lambda self: self.state.tests)
    @rule(minutes=st.integers(0, 40), crons=st.integers(1, 2))
    def callers_clean_the_table(self, minutes, crons) -> None:
        """Each cron process has read the same rows, and gives back what it has failed."""
        limit = self.now - timedelta(minutes=minutes)
        found = [test.test_id for test in self.state.tests.values() if test.started_at < limit]
        for _ in range(crons):
            for test in found:
                told = self.do(c.ChangeTest(test, TestStatus.FAILED, only_if=TestStatus.PROCESSING))
                if not isinstance(told, Rejection):
                    assert test not in self.given_back_by_caller, "two cron processes cleaned it"
                    self.given_back_by_caller.add(test)
                    self.write_balance(self.books.owner[test], 1)

    @precondition(lambda self: self.books.started)
    @rule(data=st.data(), status=st.sampled_from(TestStatus))
    def a_caller_writes_a_status(self, data, status) -> None:
        test = self.pick(data, self.books.started)
        told = self.do(c.ChangeTest(test, status))
        if told is not None and not isinstance(told, Rejection) and status is TestStatus.FAILED:
            self.given_back_by_caller.add(test)
            self.write_balance(self.books.owner[test], 1)

    @rule(data=st.data(), freeze=st.none() | st.booleans(), tests=st.none() | st.integers(1, BALANCE_MAX))
    def the_back_office_changes_a_user(self, data, freeze, tests) -> None:
        tier = data.draw(st.none() | st.sampled_from(TIERS))
        self.do(c.ChangeUser(self.pick(data, self.state.users), tier, freeze, tests))

    @rule(
        timeout_min=st.integers(1, 40),
        tiers=st.dictionaries(st.sampled_from(TIERS), st.integers(1, 5000), max_size=2),
        notify=st.booleans(),
        callers=st.integers(1, 3),
    )
    def somebody_asks_for_a_cleanup(self, timeout_min, tiers, notify, callers) -> None:
        for _ in range(callers):
            self.ids += 1
            busy = self.state.run
            told = self.do(
                c.Cleanup(uuid(2, self.ids), timeout_s=timeout_min * 60, tier_timeouts_s=tiers, notify=notify)
            )
            assert told["joined"] is (busy is not None)
            assert told["run_id"] in self.books.runs

    @rule(instances=st.integers(1, 3))
    def cron_fires_in_each_instance(self, instances) -> None:
        hour = self.now.replace(minute=0, second=0, microsecond=0)
        runs_before = sum(run.scheduled_for == hour for run in self.books.runs.values())
        for _ in range(instances):
            self.ids += 1
            self.do(c.Cleanup(uuid(2, self.ids), c.CRON, hour))
        runs = sum(run.scheduled_for == hour for run in self.books.runs.values())
        assert runs <= max(1, runs_before), "one hour, one run"

    @rule()
    def a_cleanup_could_not_be_done(self) -> None:
        self.do(c.ReportCleanupFailed("why ever"))

    @rule(minutes=st.integers(0, 45))
    def time_passes(self, minutes) -> None:
        self.pass_time(timedelta(minutes=minutes, microseconds=1))

    @rule(often=st.integers(0, 5))
    def a_day_passes(self, often) -> None:
        if often == 0:
            self.pass_time(timedelta(hours=25))
            assert not self.state.ended

    def pass_time(self, duration: timedelta) -> None:
        """As the writer: it wakes at each deadline on the way."""
        until = self.now + duration
        while (deadline := ANALYSIS.next_deadline(self.state)) is not None and deadline <= until:
            self.now = max(self.now, deadline)
            self.settle()
        self.now = until

    @rule()
    def the_state_goes_through_a_snapshot(self) -> None:
        before = self.state
        self.state = msgspec.msgpack.decode(msgspec.msgpack.encode(before), type=ANALYSIS.state)
        assert self.state == before
        analysis_invariants.check(self.state, self.books)

    def teardown(self) -> None:
        """In the end everything ends: nobody is frozen, an hour later a cleanup leaves nothing under way."""
        for user in self.state.users:
            self.do(c.ChangeUser(user, frozen=False))
        self.pass_time(timedelta(hours=2))
        self.ids += 1
        self.do(c.Cleanup(uuid(2, self.ids)))
        self.settle()
        for test in self.state.tests.values():
            assert self.books.balance(test.user_id) >= BALANCE_MAX, "stalled, and could have been given back"


class HurriedOffice(Office):
    """Commands come while a cleanup is still at work on what came before, as with thousands of tests."""

    settles_after_each = False


@pytest.fixture(autouse=True)
def a_small_balance(monkeypatch):
    monkeypatch.setattr(ledger, "REMAINING_MAX", BALANCE_MAX)
    monkeypatch.setattr(users, "REMAINING_MAX", BALANCE_MAX)


@pytest.fixture
def small_bounds(monkeypatch):
    """What takes thousands of tests otherwise: a cleanup that does not fit one decision."""
    monkeypatch.setattr(cleanup, "FOLLOW_UP_EVENTS_MAX", 2)
    monkeypatch.setattr(cleanup, "NOTICES_MAX", 1)


@pytest.fixture
def small_window(monkeypatch):
    monkeypatch.setattr(evolution, "PAST_TESTS_MAX", 2)


QUIET = settings(max_examples=120, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.req("SY-01", "SY-02", "SY-03", "SY-06", "DI-05")
def test_whatever_happens_the_ledger_balances():
    run_state_machine_as_test(Office, settings=QUIET)


@pytest.mark.req("SY-03", "SY-06")
def test_the_same_holds_while_a_cleanup_is_still_at_work(small_bounds):
    run_state_machine_as_test(HurriedOffice, settings=QUIET)


@pytest.mark.req("YR-10")
def test_the_same_holds_while_ended_tests_are_forgotten_early(small_window):
    run_state_machine_as_test(Office, settings=QUIET)
