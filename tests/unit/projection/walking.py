"""A walk at random through the fleet's decider: everything that people, phones and the clock may do, in any order."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from drover.domain.decider import Command
from drover.domain.event import Event
from drover.domain.fleet import FLEET
from drover.domain.fleet import commands as c
from drover.domain.fleet.events import Target
from drover.domain.fleet.policy import RULES
from drover.domain.fleet.state import Assignment, Fleet, JobStatus, Phase
from drover.testing.scenario import Scenario
from tests.unit.projection.alert_walking import handles_an_alert

PCS = 4
PHONES_PER_PC = 6
JOBS_MAX = 40
CODES = ("VIDEO_UNAVAILABLE", *sorted({rule.name for rule in RULES.values()} - {"VIDEO_REGION_BLOCKED"}) * 3)
"""Failures that end a job everywhere are rare, so that others have their turn."""


class Walk:
    """Each step is a command and what followed from it: the events of one commit."""

    def __init__(self, seed: int) -> None:
        self.scenario = Scenario(FLEET)
        self._dice = Random(seed)
        self._made = 0
        self._phones: list[str] = []
        self._past: list[Assignment] = []

    @property
    def fleet(self) -> Fleet:
        state: Fleet = self.scenario.state
        return state

    def start(self) -> list[list[Event]]:
        commits = []
        for number in range(PCS * PHONES_PER_PC):
            phone, pc = self._uuid(), f"pc-{number % PCS}"
            self._phones.append(phone)
            capabilities = ["age_verified"] if number % 4 == 0 else []
            register = c.RegisterDevice(phone, f"SERIAL{number:06d}", f"P1-G{number % 3}", pc, capabilities)
            commits += [self._do(register), self._do(c.MarkOnline(phone))]
        return commits

    def step(self) -> list[Event]:
        """What came of it; often nothing."""
        deeds = (self._work, self._work, self._work, self._report, self._report, self._presence, self._people)
        if self._dice.random() < 0.15:
            self.scenario.after(seconds=self._dice.choice((*(1, 5, 20, 60, 60, 120, 600) * 4, 6 * 3600)))
            return list(self.scenario.ticked().decision.events)
        command = self._dice.choice(deeds)()
        return [] if command is None else self._do(command)

    def _do(self, command: Command) -> list[Event]:
        return list(self.scenario.when(command).decision.events)

    def _uuid(self) -> str:
        self._made += 1
        return str(UUID(int=self._dice.getrandbits(128), version=4))

    def _work(self) -> Command | None:
        """A phone takes what it is offered, or goes on with it."""
        live = [self.fleet.assignments[d.assignment] for d in self.fleet.devices.values() if d.assignment]
        assignment = self._dice.choice(live) if live else None
        if assignment is None:
            return None
        of = (assignment.assignment_id, assignment.run)
        if assignment.phase is Phase.OFFERED:
            return c.SendAttempt(*of)
        if assignment.phase is Phase.SENT:
            return c.ReportRunning(*of, progress_pct=0)
        if assignment.phase is Phase.RUNNING:
            if self._dice.random() < 0.1:
                return self._err(assignment)
            progress = min(100, assignment.progress_pct + self._dice.randrange(40))
            return c.ReportRunning(*of, progress_pct=progress, ad_playing=self._dice.random() < 0.1)
        return None

    def _switched_off(self) -> list[str]:
        return [job.job_id for job in self.fleet.jobs.values() if job.status is JobStatus.DEACTIVATED]

    def _err(self, assignment: Assignment) -> Command:
        """An agent that records an error, begins again by itself, or gives its work back."""
        if self._dice.random() < 0.2:
            return c.ReportPending(assignment.assignment_id)
        progress = self._dice.choice((0, 50))
        return c.ReportRunning(assignment.assignment_id, error_code=self._dice.choice(CODES), progress_pct=progress)

    def _report(self) -> Command | None:
        """The end of an attempt, of this run or of one that is over."""
        if self._past and self._dice.random() < 0.1:
            past = self._dice.choice(self._past)
            return c.ReportRunning(past.assignment_id, past.run - self._dice.randrange(2), progress_pct=50)
        ready = [a for a in self.fleet.assignments.values() if a.phase in (Phase.SENT, Phase.RUNNING)]
        if not ready:
            return None
        assignment = self._dice.choice(ready)
        self._past = [*self._past[-20:], assignment]
        of = (assignment.assignment_id, assignment.run)
        if self._dice.random() < 0.5:
            return c.ReportCompleted(*of, progress_pct=100, actual_duration_sec=60, did_like=True)
        if self._dice.random() < 0.1:
            return c.MarkStalled(*of)
        what = {"error_message": "it fell", "screenshot_ref": "s.png"}
        return c.ReportFailed(*of, names_run=True, error_code=self._dice.choice(CODES), **what)

    def _presence(self) -> Command:
        phone = self._dice.choice(self._phones)
        running = [device.device_id for device in self.fleet.devices.values() if device.running]
        conditions = ("screen_locked", "battery_low")
        deeds: tuple[Callable[[], Command], ...] = (
            lambda: c.MarkOffline(phone, self.scenario.now),
            lambda: c.MarkSilent(self._dice.choice(running or self._phones)),
            lambda: c.ClearCondition(phone, self._dice.choice(conditions)),
            lambda: c.ResetDevice(phone),
            *[lambda: c.MarkOnline(phone)] * 6,
        )
        return self._dice.choice(deeds)()

    def _people(self) -> Command | None:
        dice, phone = self._dice, self._dice.choice(self._phones)
        jobs = [job.job_id for job in self.fleet.jobs.values() if job.is_open]
        if len(jobs) < 3 and len(self.fleet.jobs) < JOBS_MAX:
            return self._job()
        if not jobs:
            return None
        job = dice.choice(jobs)
        assignments = list(self.fleet.assignments)
        deeds: tuple[Callable[[], Any], ...] = (
            lambda: c.AssignJob(self._uuid(), job, phone),
            lambda: c.AssignJob(self._uuid(), job, dice.choice([*self.fleet.jobs[job].ran] or [phone])),
            lambda: c.ResumeJob(job),
            lambda: c.ResumeJob(dice.choice([*self._switched_off(), job])),
            lambda: c.PauseJob(job),
            lambda: c.PrioritizeJob(job, dice.choice((-1, 0, 5))),
            lambda: c.RunJobNext(job),
            lambda: c.ScheduleJob(job, self._time()),
            lambda: dice.choice((c.CancelJob, c.DeactivateJob))(job) if dice.random() < 0.2 else None,
            lambda: c.CancelAssignment(dice.choice(assignments)) if assignments and dice.random() < 0.3 else None,
            lambda: c.ChangeDevice(phone, pc_id=f"pc-{dice.randrange(PCS + 1)}"),
            lambda: c.ChangeDevice(phone, capabilities=dice.choice(([], ["age_verified"]))),
            lambda: c.RegisterPc(f"pc-{dice.randrange(PCS)}", dice.choice((1, 3, 20))),
            lambda: c.ReportThrottled(phone),
            lambda: handles_an_alert(self.fleet.alerts, dice, self.scenario.now),
            lambda: c.ClaimForPc(f"pc-{dice.randrange(PCS)}", 3),
        )
        return dice.choice(deeds)()

    def _time(self) -> datetime | None:
        """Now, or in a while."""
        ahead = self._dice.choice((None, None, None, 60, 600))
        return None if ahead is None else self.scenario.now + timedelta(seconds=ahead)

    def _job(self) -> Command:
        dice = self._dice
        targets = (
            None,
            Target(group_id="P1-G1"),
            Target(pc_id="pc-1"),
            Target(device_ids=()),
            Target(device_ids=tuple(dice.sample(self._phones, 5))),
            Target(count=4),
        )
        url = "https://youtu.be/x"
        more = {"is_active": dice.random() < 0.8, "priority": dice.choice((0, 0, 1)), "not_before": self._time()}
        return c.CreateJob(url, job_id=self._uuid(), target=dice.choice(targets), **more)
