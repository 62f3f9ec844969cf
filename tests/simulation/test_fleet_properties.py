"""Any sequence of commands, in any order, at any time: what the farm is promised holds after each of them."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from drover.domain.alert_handling import AcknowledgeAlert, EndSnooze, SnoozeAlert
from drover.domain.decider import DECISION_BYTES_MAX, EVENTS_PER_DECISION_MAX, Tick
from drover.domain.fleet import FLEET, evolve_past, supply
from drover.domain.fleet import commands as c
from drover.domain.fleet import events as e
from drover.domain.fleet.policy import RULES
from drover.domain.fleet.state import AssignmentStatus, Phase
from drover.eventlog.codec import Codec
from tests.simulation import fleet_invariants
from tests.simulation.fleet_history import History
from tests.simulation.given_up import GivenUp
from tests.simulation.job_counts import JobCounts

TICKS_MAX = 500
CODES = [*sorted(RULES), "SOMETHING_NEW"]
GROUPS = ["P1-G1", "P1-G2", "P2-G1"]
PCS = ["pc1", "pc2", "pc3"]
PRIORITIES = st.sampled_from([0, 0, 0, 1, -1, 100])


def uuid(kind: int, number: int) -> str:
    return f"00000000-0000-7000-8000-{kind:04d}{number:08d}"


class Farm(RuleBasedStateMachine):
    """A few PCs and phones, a few jobs; all that people, phones, presence and the clock can do to them."""

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
        self.fleet = FLEET.initial()
        self.codec = Codec.of(FLEET)
        self.history = History()
        self.counts = JobCounts()
        self.given_up = GivenUp()
        self.n = 0
        self.ids = 0
        self.ahead = timedelta(0)
        """How far the partition's time is ahead of the wall clock."""
        self.silent_since = {}
        """Phones that fell silent where they are, and when."""

    @property
    def wall_now(self) -> datetime:
        return self.now - self.ahead

    # The writer's part

    def send(self, command) -> None:
        decision = FLEET.decide(self.fleet, command, self.now)
        if decision.rejection is not None and decision.events:
            assert FLEET.answer(decision.events) == decision.rejection
        events = []
        while True:
            for event in decision.events:
                self.fold(event)
            events += decision.events
            if decision.then is None:
                break
            decision = decision.then(self.fleet, self.now)
        assert len(events) <= EVENTS_PER_DECISION_MAX
        assert len(self.codec.encode(events)) <= DECISION_BYTES_MAX
        FLEET.answer(events)
        fleet_invariants.check(self.fleet)
        for event in events:
            if isinstance(event, e.DeviceWentOffline):
                fleet_invariants.check_silence(self.fleet, event.device_id, self.silent_since, self.now)
        self.counts.check(self.fleet)
        self.given_up.see(command, events, len(self.fleet.devices))
        self.events = events

    def fold(self, event) -> None:
        self.n += 1
        event.n, event.at = self.n, self.now
        (event,) = self.codec.decode(self.codec.encode([event]))
        moves = isinstance(event, e.DeviceChanged) and self.fleet.devices[event.device_id].pc_id != event.pc_id
        takes_slot = isinstance(event, e.AttemptCreated) and not (
            (known := self.fleet.assignments.get(event.assignment_id)) and known.phase is not Phase.WAITING
        )
        self.counts.see(self.fleet, event)
        if isinstance(event, e.JobActivated):
            fleet_invariants.check_turn(self.fleet, event.job_id)
        if isinstance(event, e.JobCameDue):
            fleet_invariants.check_due(self.fleet, event.job_id, self.wall_now)
        FLEET.evolve(self.fleet, event)
        self.history.see(event)
        if isinstance(event, e.DeviceWentOffline):
            self.silent_since[event.device_id] = self.now
        elif moves or isinstance(event, e.DeviceCameOnline):
            self.silent_since.pop(event.device_id, None)
        if takes_slot:
            fleet_invariants.check_target(self.fleet, self.fleet.active, self.fleet.pcs[event.pc_id])

    def settle(self) -> None:
        """Let the clock do what is due, as the writer does."""
        for _ in range(TICKS_MAX):
            deadline = FLEET.next_deadline(self.fleet)
            if deadline is None or deadline > self.now:
                return
            self.send(Tick())
            assert self.events, f"no headway on {deadline}"
        raise AssertionError("something is due for ever")

    settles_after_each = True

    def do(self, command) -> None:
        self.send(command)
        if self.settles_after_each or self.n % 3 == 0:
            self.settle()

    def pick(self, data, items):
        return data.draw(st.sampled_from(sorted(items)))

    # What can happen

    @initialize(data=st.data())
    def a_farm(self, data) -> None:
        for pc in PCS:
            self.do(c.RegisterPc(pc, data.draw(st.integers(1, 3))))
        for number in range(data.draw(st.integers(2, 9))):
            capabilities = ["age_verified"] if data.draw(st.booleans()) else []
            group, pc = data.draw(st.sampled_from(GROUPS)), data.draw(st.sampled_from(PCS))
            self.do(c.RegisterDevice(uuid(1, number), f"SERIAL{number:04d}", group, pc, capabilities))
            if data.draw(st.integers(0, 9)):
                self.do(c.MarkOnline(uuid(1, number)))

    @rule(data=st.data())
    def a_device_is_heard(self, data) -> None:
        self.do(c.MarkOnline(self.pick(data, self.fleet.devices)))

    @rule(data=st.data())
    def a_device_is_not_heard(self, data) -> None:
        device_id = self.pick(data, self.fleet.devices)
        self.do(data.draw(st.sampled_from([c.MarkOffline, c.MarkSilent]))(device_id))

    @rule(data=st.data())
    def a_device_changes(self, data) -> None:
        self.do(
            c.ChangeDevice(
                self.pick(data, self.fleet.devices),
                data.draw(st.none() | st.sampled_from(GROUPS)),
                data.draw(st.none() | st.sampled_from(PCS)),
                data.draw(st.none() | st.sampled_from([[], ["age_verified"]])),
            )
        )

    @rule(data=st.data(), condition=st.sampled_from(["screen_locked", "battery_low"]))
    def a_device_recovers(self, data, condition) -> None:
        device_id = self.pick(data, self.fleet.devices)
        self.do(data.draw(st.sampled_from([c.ResetDevice(device_id), c.ClearCondition(device_id, condition)])))

    @rule(data=st.data(), capacity=st.integers(1, 20))
    def a_pc_changes(self, data, capacity) -> None:
        self.do(c.RegisterPc(self.pick(data, PCS), capacity))

    @rule(data=st.data())
    def a_job_comes(self, data) -> None:
        self.a_job_is_created(data)

    def a_job_is_created(self, data) -> None:
        self.ids += 1
        some = st.lists(st.sampled_from(sorted(self.fleet.devices)), max_size=3, unique=True).map(tuple)
        count = st.none() | st.integers(1, 4)
        target = data.draw(
            st.none()
            | st.builds(e.Target, group_id=st.sampled_from([*GROUPS, "P9-G9"]), count=count)
            | st.builds(e.Target, pc_id=st.sampled_from([*PCS, "pc9"]), count=count)
            | st.builds(e.Target, device_ids=some, count=count)
            | st.builds(e.Target, count=st.integers(1, 4))
        )
        more = {"is_active": data.draw(st.integers(0, 4)) > 0, "priority": data.draw(PRIORITIES)}
        more["not_before"] = self.a_time(data)
        self.do(c.CreateJob("https://youtu.be/x", job_id=uuid(2, self.ids), target=target, **more))

    @precondition(lambda self: self.fleet.jobs)
    @rule(data=st.data(), what=st.sampled_from([c.PauseJob, c.ResumeJob, c.ResumeJob, c.DeactivateJob, c.CancelJob]))
    def a_person_handles_a_job(self, data, what) -> None:
        self.do(what(self.pick(data, self.fleet.jobs)))

    def a_time(self, data) -> datetime | None:
        ahead = data.draw(st.sampled_from([None, None, None, 1, 60, 3600, 86_400]))
        return None if ahead is None else self.wall_now + timedelta(seconds=ahead)

    @precondition(lambda self: self.fleet.jobs)
    @rule(data=st.data())
    def a_person_schedules_a_job(self, data) -> None:
        self.do(c.ScheduleJob(self.pick(data, self.fleet.jobs), self.a_time(data)))

    @rule(ahead=st.sampled_from([0, 0, 5, 3600]))
    def a_new_term_begins(self, ahead) -> None:
        """The clock may have been set meanwhile."""
        self.ahead = timedelta(seconds=ahead)
        self.fold(e.TermStarted(epoch=self.n, holder="w", ahead_s=float(ahead)))
        fleet_invariants.check(self.fleet)
        self.settle()

    @precondition(lambda self: self.fleet.jobs)
    @rule(data=st.data(), priority=PRIORITIES | st.none())
    def a_person_changes_the_order(self, data, priority) -> None:
        """Without a priority: the job shall run next."""
        job_id = self.pick(data, self.fleet.jobs)
        self.do(c.RunJobNext(job_id) if priority is None else c.PrioritizeJob(job_id, priority))
        job = self.fleet.jobs[job_id]
        if priority is None and fleet_invariants.waits_for_turn(job):
            assert self.fleet.queue[0] == (job.number, job_id)

    @precondition(lambda self: self.fleet.jobs)
    @rule(data=st.data())
    def a_device_is_named_for_a_job(self, data) -> None:
        self.ids += 1
        job_id, device_id = self.pick(data, self.fleet.jobs), self.pick(data, self.fleet.devices)
        self.do(c.AssignJob(uuid(3, self.ids), job_id, device_id))

    @precondition(lambda self: self.fleet.assignments)
    @rule(data=st.data())
    def an_assignment_is_cancelled(self, data) -> None:
        self.do(c.CancelAssignment(self.pick(data, self.fleet.assignments)))

    def in_phase(self, *phases: Phase):
        return [a for a in list(self.fleet.assignments.values()) if a.phase in phases]

    def ids_in(self, *phases: Phase):
        return [a.assignment_id for a in self.in_phase(*phases)]

    @rule(data=st.data(), limit=st.integers(0, 5))
    def a_pc_claims(self, data, limit) -> None:
        self.do(c.ClaimForPc(self.pick(data, PCS), limit))

    def phones_fetch_and_begin(self, data) -> None:
        if self.fleet.active is None:
            self.a_job_is_created(data)
        for assignment in self.in_phase(Phase.OFFERED):
            if data.draw(st.integers(0, 5)):
                self.do(c.SendAttempt(assignment.assignment_id, assignment.run))
        for assignment in self.in_phase(Phase.SENT):
            if data.draw(st.integers(0, 5)):
                self.do(c.ReportRunning(assignment.assignment_id, assignment.run, progress_pct=0))

    @rule(data=st.data())
    def phones_begin(self, data) -> None:
        self.phones_fetch_and_begin(data)

    @rule(data=st.data(), code=st.sampled_from(CODES), again=st.integers(1, 4))
    def phones_work_and_fail_alike(self, data, code, again) -> None:
        """The same trouble, again and again: attempts run out, devices go into error, jobs and PCs are suspected."""
        for _ in range(again):
            self.phones_fetch_and_begin(data)
            self.end_some(data, st.sampled_from([code, code, code, None, "wait"]))
            self.pass_time(timedelta(seconds=11))

    @rule(data=st.data())
    def phones_work_and_end(self, data) -> None:
        self.phones_fetch_and_begin(data)
        self.end_some(data, st.none() | st.sampled_from([*CODES, "wait", "wait"]))

    def end_some(self, data, outcomes) -> None:
        for assignment in self.in_phase(Phase.RUNNING):
            outcome = data.draw(outcomes)
            known = self.fleet.assignments.get(assignment.assignment_id)
            if outcome == "wait" or known is None or known.phase is not Phase.RUNNING:
                continue
            if outcome is None:
                self.do(c.ReportCompleted(known.assignment_id, known.run, progress_pct=100, actual_duration_sec=9))
                assert self.fleet.ended[known.assignment_id].status is AssignmentStatus.COMPLETED
            else:
                self.do(self.failure(data, known, outcome))

    def failure(self, data, assignment, code) -> c.ReportFailed:
        """A failure, reported in any of the ways that callers have."""
        report = c.ReportFailed(assignment.assignment_id, data.draw(st.sampled_from([assignment.run, None])))
        report.error_code = code
        report.as_device = data.draw(st.sampled_from([None, None, assignment.device_id]))
        report.names_run = report.run is not None and data.draw(st.booleans())
        report.farm_is_open = data.draw(st.integers(0, 9)) == 0
        return report

    @rule(data=st.data())
    def a_network_comes_and_goes(self, data) -> None:
        self.phones_fetch_and_begin(data)
        for assignment in self.in_phase(Phase.RUNNING):
            if data.draw(st.booleans()):
                self.do(c.MarkSilent(assignment.device_id))
                self.do(c.MarkOnline(assignment.device_id))

    @precondition(lambda self: self.in_phase(Phase.RUNNING, Phase.SENT, Phase.OFFERED, Phase.RETRYING))
    @rule(
        data=st.data(),
        code=st.sampled_from(CODES),
        count=st.integers(0, 3) | st.none(),
        progress=st.sampled_from([None, 0, 50]),
    )
    def an_agent_errs_and_goes_on(self, data, code, count, progress) -> None:
        held = self.ids_in(Phase.RUNNING, Phase.SENT, Phase.OFFERED, Phase.RETRYING)
        self.do(c.ReportRunning(self.pick(data, held), error_code=code, retry_count=count, progress_pct=progress))

    @precondition(lambda self: self.in_phase(Phase.OFFERED, Phase.RETRYING))
    @rule(data=st.data())
    def an_agent_begins_unasked(self, data) -> None:
        self.do(c.ReportRunning(self.pick(data, self.ids_in(Phase.OFFERED, Phase.RETRYING)), by_pc=True))

    @precondition(lambda self: self.fleet.assignments or self.fleet.ended)
    @rule(data=st.data())
    def work_is_given_back(self, data) -> None:
        self.do(c.ReportPending(self.pick(data, [*self.fleet.assignments, *self.fleet.ended])))

    @precondition(lambda self: self.in_phase(Phase.RUNNING))
    @rule(data=st.data())
    def a_runner_cancels_its_work(self, data) -> None:
        self.do(c.CancelAssignment(self.pick(data, self.ids_in(Phase.RUNNING)), also_running=True))

    @rule(data=st.data())
    def a_device_says_that_it_is_in_error(self, data) -> None:
        self.do(c.ReportDeviceError(self.pick(data, self.fleet.devices)))

    @precondition(lambda self: any(a.phase is Phase.RUNNING for a in self.fleet.assignments.values()))
    @rule(data=st.data(), progress=st.integers(0, 100), ad=st.booleans())
    def work_goes_on(self, data, progress, ad) -> None:
        running = [i for i, a in self.fleet.assignments.items() if a.phase is Phase.RUNNING]
        self.do(c.ReportRunning(self.pick(data, running), progress_pct=progress, ad_playing=ad))

    @precondition(lambda self: any(a.phase is Phase.RUNNING for a in self.fleet.assignments.values()))
    @rule(data=st.data())
    def work_stalls(self, data) -> None:
        running = [i for i, a in self.fleet.assignments.items() if a.phase is Phase.RUNNING]
        assignment_id = self.pick(data, running)
        self.do(c.MarkStalled(assignment_id, self.fleet.assignments[assignment_id].run))

    @precondition(lambda self: self.fleet.assignments or self.fleet.ended)
    @rule(data=st.data(), run=st.integers(0, 4) | st.none())
    def a_report_comes_late_or_wrong(self, data, run) -> None:
        assignment_id = self.pick(data, [*self.fleet.assignments, *self.fleet.ended])
        report = data.draw(
            st.sampled_from(
                [
                    c.ReportRunning(assignment_id, run),
                    c.ReportCompleted(assignment_id, run, progress_pct=100, actual_duration_sec=1),
                    c.ReportFailed(assignment_id, run, error_code="APP_CRASH"),
                ]
            )
        )
        self.do(report)

    @rule(seconds=st.sampled_from([1, 5, 7, 10, 30, 61, 95, 600, 1800]))
    def time_passes(self, seconds) -> None:
        self.pass_time(timedelta(seconds=seconds))

    def pass_time(self, duration: timedelta) -> None:
        """As the writer: it wakes at each deadline on the way."""
        until = self.now + duration
        while (deadline := FLEET.next_deadline(self.fleet)) is not None and deadline <= until:
            self.now = max(self.now, deadline)
            self.settle()
        self.now = until

    @rule(often=st.integers(0, 9))
    def a_day_passes(self, often) -> None:
        if often == 0:
            self.pass_time(timedelta(hours=25))

    @rule()
    def the_state_goes_through_a_snapshot(self) -> None:
        before = self.fleet
        self.fleet = msgspec.msgpack.decode(msgspec.msgpack.encode(before), type=FLEET.state)
        assert self.fleet == before
        fleet_invariants.check(self.fleet)

    @rule(data=st.data())
    def a_device_is_throttled(self, data) -> None:
        self.do(c.ReportThrottled(self.pick(data, self.fleet.devices)))

    @rule(data=st.data(), seconds=st.integers(1, 7200))
    def an_alert_is_handled(self, data, seconds: int) -> None:
        known = self.fleet.alerts.values()
        if known:
            alert_id = data.draw(st.sampled_from(sorted(known)))
            snooze = SnoozeAlert(alert_id, self.now + timedelta(seconds=seconds))
            self.do(data.draw(st.sampled_from((AcknowledgeAlert(alert_id), snooze, EndSnooze(alert_id)))))

    def teardown(self) -> None:
        """In the end everything ends: with nobody at work, nothing is left in flight a day after the last job could
        start."""
        if self.fleet.devices:
            for device_id in list(self.fleet.devices):
                self.do(c.MarkSilent(device_id))
            self.pass_time(timedelta(hours=50))
            assert not self.history.open
            assert not self.fleet.assignments


class HurriedFarm(Farm):
    """Commands come while what follows from the ones before is not done yet, as in a big farm."""

    settles_after_each = False


@pytest.fixture
def small_bounds(monkeypatch):
    """What takes a farm of thousands otherwise: follow-ups that do not fit one decision, a look of many steps."""
    monkeypatch.setattr(supply, "FOLLOW_UP_EVENTS_MAX", 3)
    monkeypatch.setattr(supply, "SWEEP_PCS_MAX", 1)
    monkeypatch.setattr(supply, "WITHDRAWALS_MAX", 1)


@pytest.fixture
def small_window(monkeypatch):
    """What takes a busy day otherwise: more ended work than the state remembers."""
    monkeypatch.setattr(evolve_past, "PAST_JOBS_MAX", 2)
    monkeypatch.setattr(evolve_past, "PAST_ASSIGNMENTS_MAX", 4)
    monkeypatch.setattr(evolve_past, "TAKEN_BACK_MAX", 1)


@pytest.mark.req("YR-10")
def test_the_same_holds_while_ended_work_is_forgotten_early(small_window):
    run_state_machine_as_test(
        Farm,
        settings=settings(
            max_examples=80, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.req("OQ-02", "OQ-03", "OQ-04")
def test_the_same_holds_while_the_clock_is_still_at_work_on_what_came_before(small_bounds):
    run_state_machine_as_test(
        HurriedFarm,
        settings=settings(
            max_examples=80, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.req("OQ-02", "OQ-03", "OQ-04", "DF-03", "DF-05", "EV-04")
def test_whatever_happens_the_farm_keeps_its_promises():
    run_state_machine_as_test(
        Farm,
        settings=settings(
            max_examples=150,
            stateful_step_count=60,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
