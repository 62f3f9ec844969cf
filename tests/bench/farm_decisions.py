"""What a decision costs as the farm grows: a phone's whole round at 1,000, 10,000 and 100,000 devices, in one run."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from time import perf_counter

from drover.domain.fleet import FLEET
from drover.domain.fleet import commands as c
from drover.domain.fleet.state import Fleet, Phase
from tests.bench.report import Figure, at_most

SIZES = (1_000, 10_000, 100_000)
PER_PC = 20
CAPACITY = 10  # half of its phones at once, so that every end is followed by the supply of the next
ROUNDS = 7
ATTEMPTS_PER_ROUND = 400
BOUND = 1.5


class Farm:
    """A fleet in the middle of a job, without a log: only decisions and their folding."""

    def __init__(self, devices: int) -> None:
        self.now = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
        self.fleet: Fleet = FLEET.initial()
        self.jobs = 0
        for number in range(devices):
            pc_id = f"pc{number // PER_PC}"
            if number % PER_PC == 0:
                self.do(c.RegisterPc(pc_id, CAPACITY))
            device_id = f"00000000-0000-7000-8000-{number:012d}"
            self.do(c.RegisterDevice(device_id, f"SERIAL{number:08d}", f"P{number // PER_PC}-G1", pc_id))
            self.do(c.MarkOnline(device_id))
        self.new_job()

    def new_job(self) -> None:
        self.jobs += 1
        self.do(c.CreateJob(job_id=f"10000000-0000-7000-8000-{self.jobs:012d}", target_url="https://youtu.be/x"))
        while (due := FLEET.next_deadline(self.fleet)) is not None and due <= self.now:
            self.do(c.FireOverdue())
        self.offered = self._offered()

    def do(self, command: c.FleetCommand) -> None:
        self.now += timedelta(microseconds=10)
        decision = FLEET.decide(self.fleet, command, self.now)
        while True:
            for event in decision.events:
                event.at = self.now
                FLEET.evolve(self.fleet, event)
            if decision.then is None:
                return
            decision = decision.then(self.fleet, self.now)

    def _offered(self) -> Iterator[tuple[str, int]]:
        return iter([(a.assignment_id, a.run) for a in self.fleet.assignments.values() if a.phase is Phase.OFFERED])

    def attempts_us(self, count: int) -> float:
        """Fetch, begin, report progress, end; each end supplies the next. Microseconds for one such attempt."""
        work = [next(self.offered) for _ in range(count)]
        started = perf_counter()
        for assignment_id, run in work:
            self.do(c.SendAttempt(assignment_id, run))
            self.do(c.ReportRunning(assignment_id, run, progress_pct=0))
            self.do(c.ReportRunning(assignment_id, run, progress_pct=50))
            self.do(c.ReportCompleted(assignment_id, run, progress_pct=100, actual_duration_sec=9))
        return (perf_counter() - started) / count * 1e6


async def figures() -> list[Figure]:
    farms = {size: Farm(size) for size in SIZES}
    gc.collect()
    gc.disable()  # what its pauses cost depends on when they come; the writer's own are rare and set apart
    samples: dict[int, list[float]] = {size: [] for size in SIZES}
    for turn in range(ROUNDS):
        for size, farm in farms.items():
            if turn:
                # A job that nobody has had: on the smallest farm, too, every end is followed by the supply of the next.
                farm.do(c.CancelJob(f"10000000-0000-7000-8000-{farm.jobs:012d}"))
                farm.new_job()
            samples[size].append(farm.attempts_us(ATTEMPTS_PER_ROUND))
    cost = {size: min(times) for size, times in samples.items()}  # the least disturbed round of each
    least = min(cost.values())
    return [at_most(f"decisions of one attempt at {size:,} devices", cost[size], least, BOUND, "us") for size in SIZES]
