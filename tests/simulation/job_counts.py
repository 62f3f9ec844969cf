"""What must hold of a job's counters: every phone is counted once, and together they are the job's total."""

from uuid import UUID

from drover.domain.event import Event
from drover.domain.fleet import FLEET
from drover.domain.fleet import events as e
from drover.domain.fleet.index import is_target
from drover.domain.fleet.state import Fleet, Job
from drover.eventlog.codec import Codec
from drover.eventlog.log import StoredCommit
from drover.projection.memory import MemoryTables
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.fleet.jobs import JOBS, JobRow

ENDINGS = (e.JobCompleted, e.JobCancelled, e.JobExpired, e.JobDeactivated)
UNDER_WAY = ("pending", "running", "retrying")
OVER = ("completed", "failed", "cancelled")


class JobCounts:
    """Keeps the rows that the projector makes of the events, and compares their counters with the decider's facts."""

    def __init__(self) -> None:
        self._tables = MemoryTables(FLEET_PROJECTION)
        self._codec = Codec.of(FLEET)
        self._total: dict[str, int] = {}
        """Of jobs that have ended."""

    def see(self, fleet: Fleet, event: Event) -> None:
        """`fleet`: as it is before this event."""
        if isinstance(event, ENDINGS):
            self._total[event.job_id] = _phones(fleet, fleet.jobs[event.job_id])
        self._tables.fold(StoredCommit(event.n, "c", 1, event.at, self._codec.encode([event])))

    def check(self, fleet: Fleet) -> None:
        for job in fleet.jobs.values():
            row = self._tables.get(JOBS, UUID(job.job_id))
            assert row is not None
            counted = _sum(row, *UNDER_WAY, *OVER, "skipped")
            assert _sum(row, *UNDER_WAY) == len(job.live), "a phone at work is not counted once"
            if job.is_open:
                assert _sum(row, *OVER) == len(job.ran), "a phone that has had the job is not counted once"
                assert row.skipped == 0
            else:
                assert counted == self._total[job.job_id], "the counters are not the job's phones"


def _sum(row: JobRow, *names: str) -> int:
    return sum(getattr(row, name) for name in names)


def _phones(fleet: Fleet, job: Job) -> int:
    """How many the job is for. Those that have had it belong to it, also where they moved away since."""
    known = job.ran.keys() | job.live.keys()
    target = job.spec.target
    if target is not None and target.count is not None:
        return max(target.count + job.replaced, len(known))
    return len({device.device_id for device in fleet.devices.values() if is_target(job, device)} | known)
