"""The order in which waiting jobs get their turn. `evolve` keeps the queue in this order; `why` says who is ahead."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable

from drover.domain.fleet.state import Fleet, Job

Turn = tuple[int, int, int]


def turn(job: Job) -> Turn:
    """Return the sort key of a job in the queue. Jobs that a person put first come before all others, the one that was
    put first last before the rest of them; then jobs with a higher priority; then older jobs."""
    return -job.put_first, -job.spec.priority, job.number


def enqueue(fleet: Fleet, job: Job) -> None:
    insort(fleet.queue, (job.number, job.job_id), key=_turn_in(fleet))
    fleet.unsettled = True


def dequeue(fleet: Fleet, job: Job) -> bool:
    """Remove a job from the queue. Return whether it was there. The caller must not have changed yet what `turn` reads
    of this job."""
    place = bisect_left(fleet.queue, turn(job), key=_turn_in(fleet))
    if place == len(fleet.queue) or fleet.queue[place][0] != job.number:
        return False
    del fleet.queue[place]
    fleet.unsettled = True
    return True


def ahead_of(fleet: Fleet, job: Job) -> list[Job]:
    """Return the jobs in the queue that come before this one, which need not be in the queue itself."""
    place = bisect_left(fleet.queue, turn(job), key=_turn_in(fleet))
    return [fleet.jobs[job_id] for _, job_id in fleet.queue[:place]]


def _turn_in(fleet: Fleet) -> Callable[[tuple[int, str]], Turn]:
    return lambda entry: turn(fleet.jobs[entry[1]])
