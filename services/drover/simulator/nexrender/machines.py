"""The machines of a simulated nexrender, which take jobs and render them. They have no clock: the caller advances their
time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final

from drover.simulator.nexrender.movie import film
from drover.simulator.nexrender.output_folder import OutputFolder, WriteFailed, target_of
from drover.simulator.nexrender.script import GOOD, Outcome, Script
from drover.simulator.nexrender.store import Job, Jobs, now_text

START_S: Final = 0.01
"""Seconds between the pickup of a job and the report of its start. The report of an error follows the last report of
progress after the same time."""
STEP: Final = (3, 17)
"""The smallest and the largest step of progress, in percentage points."""
ENDS_AT_90: Final = 0.3
"""The share of successful renders whose progress never exceeds 90, as with the real nexrender."""

_Life = Iterator[float]


class Machines:
    """Machines that each render one job at a time. Deterministic: the same uid and render number give the same
    result."""

    def __init__(self, jobs: Jobs, script: Script, folder: OutputFolder, *, machines: int) -> None:
        self._jobs = jobs
        self._script = script
        self._folder = folder
        self._free = machines
        self._numbers = count(1)
        self._due: list[tuple[float, int, _Life | None]] = []
        self._now = 0.0
        self._looking = False
        self.begun = 0
        """The number of renders that have begun, including those of removed jobs."""

    def look_for_work(self) -> None:
        """Make free machines check for a waiting job."""
        if self._free and not self._looking:
            self._looking = True
            self._at(self._now + self._script.pickup_s, None)

    def next_at(self) -> float:
        """Return the time at which the next step is due; infinite if there is none."""
        return self._due[0][0] if self._due else math.inf

    def advance_to(self, now: float) -> None:
        """Do all steps that are due by this time, in order."""
        while self._due and self._due[0][0] <= now:
            self._now, _, life = heappop(self._due)
            if life is None:
                self._take_jobs()
            else:
                self._go_on(life)
        self._now = max(self._now, now)

    def _at(self, when: float, life: _Life | None) -> None:
        heappush(self._due, (when, next(self._numbers), life))

    def _take_jobs(self) -> None:
        self._looking = False
        while self._free and (job := self._jobs.pick_up()) is not None:
            self._free -= 1
            self.begun += 1
            self._go_on(self._life(dict(job), Random(f"{job['uid']} {self.begun}")))

    def _go_on(self, life: _Life) -> None:
        wait_s = next(life, None)
        if wait_s is None:
            self._free += 1
            self.look_for_work()
        else:
            self._at(self._now + wait_s, life)

    def _life(self, job: Job, dice: Random) -> _Life:
        """Run one render; yields the time until its next step. If the server has deleted the job, the render continues
        and its reports are lost."""
        uid, number = job["uid"], self.begun
        outcome = self._script.opening[number - 1] if number <= len(self._script.opening) else self._outcome(dice)
        yield START_S
        if self._jobs.update(uid, {"state": "started", "startedAt": now_text()}) is None:
            return  # removed before its start: the only point where the real worker gives up
        yield from self._rendering(uid, outcome, dice)
        if outcome.error is not None:
            yield START_S
            self._fail(uid, outcome.error)
            return
        self._jobs.update(uid, {"state": "render:postrender"})
        yield dice.uniform(*self._script.encode_s)
        try:
            self._land(job, outcome)
        except WriteFailed as error:
            self._fail(uid, str(error))
        else:
            self._jobs.update(uid, {"state": "finished", "finishedAt": now_text()})

    def _rendering(self, uid: str, outcome: Outcome, dice: Random) -> _Life:
        whole_s, told, last = dice.uniform(*self._script.render_s), 0, outcome.progress_max
        if last is None:
            last = 90 if dice.random() < ENDS_AT_90 else 100
        while told < 100:
            before, told = told, min(100, told + dice.randint(*STEP))
            if outcome.stops_at is not None and told > outcome.stops_at:
                return
            yield whole_s * (told - before) / 100
            self._jobs.update(uid, {"state": "render:dorender", "renderProgress": min(told, last)})

    def _outcome(self, dice: Random) -> Outcome:
        rolled = dice.random()
        for chance in self._script.chances:
            rolled -= chance.share
            if rolled < 0:
                return chance.outcome
        return GOOD

    def _land(self, job: Job, outcome: Outcome) -> None:
        if (target := target_of(job)) is not None:
            self._folder.land(target, film(outcome.file, self._script.size, f"{job['uid']} {self.begun}"))

    def _fail(self, uid: str, text: str) -> None:
        self._jobs.update(uid, {"state": "error", "error": text, "errorAt": now_text()})
