"""Any sequence of commands, at any time: what reminders are promised holds after each of them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from drover.domain.decider import DECISION_BYTES_MAX, EVENTS_PER_DECISION_MAX, Tick
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.domain.reminder import reminder_decider
from drover.domain.reminder.policy import Policy
from drover.domain.reminder.state import minute_of, seconds_of
from drover.eventlog.codec import Codec
from tests.simulation import reminder_invariants

USERS = ["user_a", "user_b"]
PAGES = [f"page-{number}" for number in range(40)]
ZONES = ["Asia/Seoul", "America/New_York", "Australia/Lord_Howe", "UTC"]
DAILY = reminder_decider(Policy(cap=timedelta(days=1)))
SHORT = reminder_decider(
    Policy(base=timedelta(minutes=1), cap=timedelta(minutes=3), recover_after=timedelta(minutes=5))
)
SPRING = datetime(2026, 3, 7, 20, 0, tzinfo=UTC)
"""The evening before New York's clocks are put forward."""


class Partition(RuleBasedStateMachine):
    """Two users with many pages in few minutes; senders that claim, report, repeat themselves and die."""

    decider = DAILY

    def __init__(self) -> None:
        super().__init__()
        self.now = SPRING
        self.state = self.decider.initial()
        self.codec = Codec.of(self.decider)
        self.sendings = reminder_invariants.Sendings()
        self.crowded: set[tuple[str, int]] = set()
        self.reports: list[e.AlarmDispatched] = []
        self.asked: dict[str, c.Notify] = {}
        self.n = 0

    def do(self, command) -> None:
        decision = self.decider.decide(self.state, command, self.now)
        if decision.rejection is not None and decision.events:
            assert self.decider.answer(decision.events) == decision.rejection
        events = []
        while True:
            for event in decision.events:
                self.fold(event)
            events += decision.events
            if decision.then is None:
                break
            decision = decision.then(self.state, self.now)
        assert len(events) <= EVENTS_PER_DECISION_MAX
        assert len(self.codec.encode(events)) <= DECISION_BYTES_MAX
        self.decider.answer(events)
        self.events = events
        reminder_invariants.check(self.state, self.crowded)

    def fold(self, event) -> None:
        self.n += 1
        event.n, event.at = self.n, self.now
        (event,) = self.codec.decode(self.codec.encode([event]))
        self.decider.evolve(self.state, event)
        self.sendings.see(event)
        if isinstance(event, e.MinuteCrowded):
            self.crowded.add((event.page_id, minute_of(seconds_of(event.next_alarm_time))))

    @rule(page=st.sampled_from(PAGES), user=st.sampled_from(USERS))
    def register(self, page, user) -> None:
        self.do(c.RegisterByPage(page, user, "t", "b"))

    @rule(page=st.sampled_from(PAGES), user=st.sampled_from(USERS), minutes=st.integers(-5, 90), local=st.booleans())
    def schedule(self, page, user, minutes, local) -> None:
        # A few minutes around one moment, so that users run out of free ones.
        time = SPRING + timedelta(hours=10, minutes=minutes // 30)
        self.do(c.Schedule(page, user, time.replace(tzinfo=None) if local else time))

    @rule(user=st.sampled_from(USERS), first=st.integers(0, 20))
    def crowd(self, user, first) -> None:
        """Many alarms at one minute: the fifty tries get used up."""
        time = self.now + timedelta(hours=1)
        for number in range(first, len(PAGES)):
            self.do(c.RegisterByPage(PAGES[number], user))
            self.do(c.Schedule(PAGES[number], user, time + timedelta(minutes=number % 3)))

    @rule(number=st.integers(0, 3), user=st.sampled_from(USERS))
    def notify(self, number, user) -> None:
        """Once, or again and again, as after a restart."""
        page = f"{reminder_invariants.NOTICE}{number}"
        self.do(self.asked.setdefault(page, c.Notify(page, user, "t", "b", self.now)))

    @rule(user=st.sampled_from(USERS), zone=st.sampled_from(ZONES))
    def move(self, user, zone) -> None:
        self.do(c.SetTimezone(user, zone))

    @rule(pages=st.lists(st.sampled_from(PAGES), max_size=5), user=st.sampled_from([None, *USERS]))
    def delete(self, pages, user) -> None:
        self.do(c.DeletePages(tuple(pages), user))

    @rule(limit=st.integers(1, 30))
    def claim(self, limit) -> None:
        self.do(c.ClaimDue(limit, "sender"))
        claimed = [event for event in self.events if isinstance(event, e.AlarmDispatched)]
        assert len(claimed) <= limit
        due = self.state.due_s()
        assert len(claimed) == limit or due is None or due > seconds_of(self.now), "something due was left"
        self.reports += claimed

    @precondition(lambda self: self.reports)
    @rule(data=st.data(), how=st.sampled_from(["sent", "sent", "failed", "permanent", "unknown", "again"]))
    def report(self, data, how) -> None:
        """By whoever claimed it, now or long ago, once or several times."""
        index = data.draw(st.integers(0, len(self.reports) - 1))
        claim = self.reports[index] if how == "again" else self.reports.pop(index)
        about = (claim.page_id, claim.sending, claim.life, claim.attempt)
        command = {
            "sent": c.ReportSent(*about),
            "again": c.ReportSent(*about),
            "failed": c.ReportFailed(*about, False, "http_503"),
            "permanent": c.ReportFailed(*about, True, "http_400"),
            "unknown": c.ReportUnknown(*about, "partial", delivered=("s1",)),
        }[how]
        self.do(command)

    @rule(page=st.sampled_from(PAGES), user=st.sampled_from(USERS), minutes=st.integers(-400, 90), seen=st.booleans())
    def mark(self, page, user, minutes, seen) -> None:
        """A sender of the users' own claims one alarm, or gives one up."""
        only_if = c.AlarmSeen(claimed=False) if seen else None
        self.do(c.ChangeAlarm(page, user, processed_at=self.now + timedelta(minutes=minutes), only_if=only_if))

    @rule(
        page=st.sampled_from(PAGES),
        user=st.sampled_from(USERS),
        minutes=st.one_of(st.none(), st.integers(-5, 90)),
        count=st.one_of(st.none(), st.integers(1, 4)),
        release=st.booleans(),
    )
    def write(self, page, user, minutes, count, release) -> None:
        """Apps and senders write whatever columns they like."""
        time = None if minutes is None else self.now + timedelta(minutes=minutes)
        self.do(c.ChangeAlarm(page, user, "t", None, time, count, "n", release=release))

    @rule(page=st.sampled_from(PAGES), user=st.sampled_from(USERS), minutes=st.integers(-5, 90), claimed=st.booleans())
    def add(self, page, user, minutes, claimed) -> None:
        time = self.now + timedelta(minutes=minutes)
        self.do(c.AddAlarm(page, user, next_alarm_time=time, processed_at=self.now if claimed else None))

    @rule(user=st.sampled_from(USERS), zone=st.sampled_from(ZONES))
    def list_a_user_anew(self, user, zone) -> None:
        self.do(c.RemoveUser(user))
        self.do(c.AddUser(user, zone))

    @rule(user=st.sampled_from(USERS))
    def remove_a_user(self, user) -> None:
        self.do(c.RemoveUser(user))

    @rule(minutes=st.sampled_from([0, 0, 1, 30, 60, 400, 1440, 3000]))
    def time_passes(self, minutes) -> None:
        self.now += timedelta(minutes=minutes, seconds=1)
        deadline = self.decider.next_deadline(self.state)
        while deadline is not None and deadline <= self.now:
            self.do(Tick())
            assert self.events
            deadline = self.decider.next_deadline(self.state)

    @rule()
    def the_writer_starts_anew_from_its_snapshot(self) -> None:
        self.state = reminder_invariants.same_from_snapshot(self.state)


class ShortPauses(Partition):
    decider = SHORT


@pytest.mark.req("RM-06", "RM-09", "RM-10", "SY-16")
@pytest.mark.parametrize("machine", [Partition, ShortPauses])
def test_no_two_alarms_of_a_user_share_a_minute_unless_fifty_tries_were_in_vain_and_that_was_said(machine):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
