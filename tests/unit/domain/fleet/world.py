"""Scenarios of the fleet: phones on PCs, jobs, work as far as a test wants it to have come. No expectations here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from drover.domain.event import Event
from drover.domain.fleet import FLEET
from drover.domain.fleet import events as e
from drover.domain.fleet.commands import CreateJob, Report, ReportCompleted, ReportFailed, ReportRunning, SendAttempt
from drover.domain.fleet.policy import ATTEMPT_TIMEOUT, rule_of
from drover.domain.fleet.state import Assignment, Device, Fleet, Job, Pc
from drover.domain.ids import derived_uuid
from drover.testing.scenario import NOON, Scenario, given

G1, G2 = "P1-G1", "P1-G2"
URL = "https://youtu.be/abc"


def device_id(number: int) -> str:
    return f"00000000-0000-7000-8000-{number:012d}"


def job_id(number: int) -> str:
    return f"11111111-0000-7000-8000-{number:012d}"


def posted_id(number: int) -> str:
    """The id that a client gives to an assignment."""
    return f"22222222-0000-7000-8000-{number:012d}"


D1, D2, D3, D4, D5, D6 = map(device_id, range(1, 7))
J1, J2, J3 = map(job_id, range(1, 4))
NOBODY = device_id(999)


def at(**passed: float) -> datetime:
    """So long after the beginning of the scenario."""
    return NOON + timedelta(**passed)


# Phones and PCs


def serial(device: str) -> str:
    return f"SERIAL{device[-4:]}"


def pc(name: str = "pc1", capacity: int = 20) -> e.PcRegistered:
    return e.PcRegistered(name, capacity)


def registered(device: str, pc: str = "pc1", group: str = G1, capabilities: Iterable[str] = ()) -> e.DeviceRegistered:
    return e.DeviceRegistered(device, serial(device), group, pc, list(capabilities))


def online(device: str, pc: str = "pc1", group: str = G1, capabilities: Iterable[str] = ()) -> list[Event]:
    return [registered(device, pc, group, capabilities), e.DeviceCameOnline(device)]


def farm(*sizes: int, capacity: int = 20) -> list[Event]:
    """PCs `pc1`, `pc2` … with so many phones each, all online; phones are counted through."""
    events: list[Event] = []
    phones = 0
    for place, size in enumerate(sizes, 1):
        events.append(pc(f"pc{place}", capacity))
        for number in range(phones + 1, phones + size + 1):
            events += online(device_id(number), f"pc{place}")
        phones += size
    return events


# Jobs


def created(
    job: str = J1, target: e.Target | None = None, *, is_active: bool = True, title: str | None = None
) -> e.JobCreated:
    return e.JobCreated(job, title, URL, "youtube_watch", 30, 90, 50, 30, 10, is_active, 10, target)


def active(job: str = J1, target: e.Target | None = None, *, pcs: int = 1) -> list[Event]:
    """The ACTIVE job, with the look for its devices behind it."""
    return [created(job, target), e.JobActivated(job), e.SupplyAdvanced(job, pcs)]


def create(job: str = J1, **fields: Any) -> CreateJob:
    return CreateJob(job_id=job, target_url=URL, **fields)


# Work


class Work:
    """One job on one phone: the events of its attempts, and what its agent says."""

    def __init__(
        self, device: str = D1, job: str = J1, *, number: int = 1, pc: str = "pc1", id: str | None = None
    ) -> None:
        self.device, self.job, self.pc = device, job, pc
        self.id = id or derived_uuid(job, int(job[-12:]), number - 1, 0)
        """The n-th assignment that its job makes, unless a client named it."""
        self.of = (self.id, job, device)

    def attempt(self, run: int = 1, attempt: int | None = None) -> tuple[str, str, str, int, int]:
        """What every event about an attempt begins with. Without roll-backs, runs and attempts go together."""
        return (*self.of, run, run if attempt is None else attempt)

    # Events

    def created(self, run: int = 1, attempt: int | None = None) -> e.AttemptCreated:
        return e.AttemptCreated(*self.attempt(run, attempt), self.pc)

    def was_sent(self, run: int = 1, attempt: int | None = None, *, since: datetime = NOON) -> e.AttemptSent:
        return e.AttemptSent(*self.attempt(run, attempt), since + ATTEMPT_TIMEOUT)

    def started(self, run: int = 1, attempt: int | None = None, progress: int = 0, **times: Any) -> e.AttemptStarted:
        timeout_at = times.get("sent", NOON) + ATTEMPT_TIMEOUT
        return e.AttemptStarted(*self.attempt(run, attempt), progress, times.get("claimed"), timeout_at)

    def failed(
        self, code: str = "E1002", run: int = 1, attempt: int | None = None, *, blamed: bool = True, message: Any = None
    ) -> e.AttemptFailed:
        return e.AttemptFailed(*self.attempt(run, attempt), code, rule_of(code).name, message, blamed)

    def retry(self, run: int = 1, attempt: int | None = None, *, due: datetime | None) -> e.RetryScheduled:
        return e.RetryScheduled(*self.attempt(run, attempt), due)

    def final(
        self,
        code: str,
        run: int = 1,
        attempt: int | None = None,
        *,
        message: Any = None,
        replaced: bool = False,
        counts: bool = False,
    ) -> e.AttemptFailedFinal:
        return e.AttemptFailedFinal(*self.attempt(run, attempt), code, rule_of(code).name, message, replaced, counts)

    def succeeded(self, run: int = 1, attempt: int | None = None, seconds: int = 60) -> e.AttemptSucceeded:
        return e.AttemptSucceeded(*self.attempt(run, attempt), NOON, NOON, seconds, False, False, False, None)

    def withdrawn(self, reason: str, run: int = 1, attempt: int | None = None) -> e.AttemptCancelled:
        return e.AttemptCancelled(*self.attempt(run, attempt), reason)

    def rolled_back(self, run: int = 1, attempt: int | None = None) -> e.AttemptRolledBack:
        return e.AttemptRolledBack(*self.attempt(run, attempt), "silent")

    def cancelled(self, reason: str) -> e.AssignmentCancelled:
        return e.AssignmentCancelled(*self.of, reason)

    def parked(self, reason: str) -> e.AssignmentParked:
        return e.AssignmentParked(*self.of, reason)

    def requested(self) -> e.AssignmentRequested:
        return e.AssignmentRequested(*self.of)

    def stale(self, status: str, run: int, current: int, attempt: int = 1) -> e.StaleReportRefused:
        return e.StaleReportRefused(*self.attempt(run, attempt), status, current)

    # Histories

    def offered(self, attempt: int = 1, *, after: str = "E1002") -> list[Event]:
        """Attempt `attempt` waits to be fetched; those before it failed with `after`."""
        events: list[Event] = []
        for past in range(1, attempt):
            due = NOON + rule_of(after).delay(past)
            events += [self.created(past), self.was_sent(past), self.started(past)]
            events += [self.failed(after, past), self.retry(past, due=due)]
        return [*events, self.created(attempt)]

    def sent(self, attempt: int = 1, *, after: str = "E1002") -> list[Event]:
        return [*self.offered(attempt, after=after), self.was_sent(attempt)]

    def running(self, attempt: int = 1, *, after: str = "E1002") -> list[Event]:
        return [*self.sent(attempt, after=after), self.started(attempt)]

    # What its agent does

    def fetch(self, run: int = 1) -> SendAttempt:
        return SendAttempt(self.id, run)

    def runs(self, run: int | None = 1, **fields: Any) -> ReportRunning:
        return ReportRunning(self.id, run, **fields)

    def completes(self, run: int | None = 1, **fields: Any) -> ReportCompleted:
        return ReportCompleted(self.id, run, **({"progress_pct": 100, "actual_duration_sec": 60} | fields))

    def fails(self, code: str | None = "E1002", run: int | None = 1, **fields: Any) -> ReportFailed:
        """By an agent that names its run, if it knows one."""
        return ReportFailed(self.id, run, error_code=code, **({"names_run": run is not None} | fields))

    def says(self, *reports: type[Report], run: int | None = 1) -> list[Report]:
        """One report of each kind, well formed."""
        make: dict[type[Report], Callable[..., Report]] = {
            ReportRunning: self.runs,
            ReportCompleted: self.completes,
            ReportFailed: self.fails,
        }
        return [make[report](run=run) for report in reports]


# Many phones at once


FIVE_WORKS = [Work(device, number=number) for number, device in enumerate((D1, D2, D3, D4, D5), 1)]


def last_attempts(phones: int, *, pcs: int = 1, others: int = 0) -> Scenario:
    """So many phones, on one PC or on one each, at their third attempt; others, on further PCs, at their first.

    The works are `FIVE_WORKS`, in this order.
    """
    sizes = [phones] if pcs == 1 else [1] * pcs
    scenario = given(FLEET, *farm(*sizes, *([1] * others)), *active(pcs=pcs + others))
    for number, work in enumerate(FIVE_WORKS[: phones + others], 1):
        there = Work(work.device, number=number, pc=scenario.state.devices[work.device].pc_id)
        scenario.given(*there.running(3 if number <= phones else 1))
    return scenario


# Looking at what has become of it


def fleet_of(scenario: Scenario) -> Fleet:
    fleet: Fleet = scenario.state
    return fleet


def phone(scenario: Scenario, device: str) -> Device:
    return fleet_of(scenario).devices[device]


def work_of(scenario: Scenario, work: Work) -> Assignment:
    return fleet_of(scenario).assignments[work.id]


def job_of(scenario: Scenario, job: str = J1) -> Job:
    return fleet_of(scenario).jobs[job]


def pc_of(scenario: Scenario, name: str = "pc1") -> Pc:
    return fleet_of(scenario).pcs[name]


def told(scenario: Scenario, kind: type[Event]) -> list[Any]:
    """Events of this type in the latest decision."""
    return [event for event in scenario.decision.events if type(event) is kind]


def in_hand(scenario: Scenario, device: str) -> Assignment:
    """The assignment that holds this phone's slot."""
    assignment = phone(scenario, device).assignment
    assert assignment is not None, f"{device} has nothing in hand"
    return fleet_of(scenario).assignments[assignment]


def work_in_hand(scenario: Scenario, device: str) -> Work:
    assignment = in_hand(scenario, device)
    return Work(device, assignment.job_id, id=assignment.assignment_id, pc=phone(scenario, device).pc_id)


def begin(scenario: Scenario, *devices: str) -> Scenario:
    """These phones fetch what they are offered and say that it runs."""
    for device in devices:
        run = in_hand(scenario, device).run
        work = work_in_hand(scenario, device)
        scenario.when(work.fetch(run)).when(work.runs(run))
    return scenario
