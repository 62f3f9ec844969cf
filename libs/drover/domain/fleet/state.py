"""The state of the fleet's decider. It is kept small: the log has the history, and the scheduler has the signs of life.

Only `index.py` writes the counts and sets of devices that could take work.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from drover.domain.alerts import Snooze
from drover.domain.fleet.job_spec import JobSpec
from drover.domain.fleet.policy import ATTEMPTS_MAX, JOB_LIVES
from drover.domain.past import Past
from drover.domain.timers import Timers


class DeviceStatus(StrEnum):
    ONLINE = "online"
    OFFLINE = "offline"
    BUSY = "busy"
    ERROR = "error"


class JobStatus(StrEnum):
    CREATED = "created"
    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    EXPIRED = "expired"
    DEACTIVATED = "deactivated"
    CANCELLED = "cancelled"


class Phase(StrEnum):
    """The phase of a live assignment. Clients see all but RUNNING as pending."""

    WAITING = "waiting"
    """The assignment waits without a slot for its turn, its device or its job. Agents do not see it."""
    RETRYING = "retrying"
    """The assignment keeps its slot until the delay after a failure ends. Agents do not see it."""
    OFFERED = "offered"
    SENT = "sent"
    RUNNING = "running"


class AssignmentStatus(StrEnum):
    """The status that clients see."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DeviceError(msgspec.Struct):
    rule: str
    until: datetime | None
    condition: str | None
    job_id: str | None


class Pc(msgspec.Struct):
    pc_id: str
    capacity: int
    created_at: datetime
    updated_at: datetime
    devices: dict[str, None] = {}
    in_use: int = 0
    """How many slots of the PC are in use: assignments of any job that are offered, sent, running or waiting for a
    retry."""
    offered: dict[str, None] = {}
    """Ids of the assignments that wait until their agents fetch them."""
    held_until: datetime | None = None
    failing: dict[str, datetime] = {}
    """Its devices that went into error, each with the time. If all its devices are in here, the PC is taken to be at
    fault and not its phones."""
    heard: int = 0
    """How many of its devices send signs of life."""
    silent: dict[str, datetime] = {}
    """Its devices that fell silent, each with the time. If all its devices are in here, the PC itself may be down."""
    available: int = 0
    seen_in: int = 0
    """The number of the search (`Supply.look`) that `countable`, `free` and `back` were counted in."""
    countable: int = 0
    """How many devices are countable for the ACTIVE job (see `index`)."""
    free: dict[str, None] = {}
    """Devices that could take the ACTIVE job and have not had it yet."""
    back: dict[str, None] = {}
    """Devices that could continue the ACTIVE job: an assignment of it waits for them."""


class DeviceSettings(msgspec.Struct, kw_only=True):
    """The fields of a device that a client may change."""

    group_id: str
    pc_id: str
    capabilities: list[str]


class DeviceSpec(DeviceSettings, kw_only=True):
    """The fields of a device that a client sets when it registers the device."""

    serial_number: str


class Device(DeviceSpec, kw_only=True):
    device_id: str
    created_at: datetime
    updated_at: datetime
    alive: bool = False
    """Whether signs of life arrive from the device."""
    error: DeviceError | None = None
    held_until: datetime | None = None
    untaken: int = 0
    failures: int = 0
    """How many failures in a row count against the device."""
    crashes: int = 0
    assignment: str | None = None
    """The assignment of this device that holds a slot."""
    running: bool = False
    named_in: dict[str, None] = msgspec.field(default_factory=dict)
    """Open jobs that name this device."""
    available: bool = False
    countable: bool = False
    free: bool = False
    back: bool = False
    expected: bool = False

    @property
    def status(self) -> DeviceStatus:
        if self.error is not None:
            return DeviceStatus.ERROR
        if self.running:
            return DeviceStatus.BUSY
        return DeviceStatus.ONLINE if self.alive else DeviceStatus.OFFLINE


Failure = tuple[int, int]
"""A failed attempt: the run in which it failed, and the number of the attempt."""


def attempt_of_run(owner: Assignment | Ended, run: int) -> int:
    """Return the attempt of a run. Runs that were rolled back belong to the attempt of the next run that failed."""
    for failed_run, attempt in owner.failures:
        if run <= failed_run:
            return attempt
    return min(owner.failed + 1, ATTEMPTS_MAX)


class Assignment(msgspec.Struct):
    """A live assignment. An ended one leaves only an `Ended`."""

    assignment_id: str
    job_id: str
    device_id: str
    created_at: datetime
    phase: Phase = Phase.WAITING
    run: int = 0
    failed: int = 0
    """How many attempts have failed."""
    rollbacks: int = 0
    has_run: bool = False
    asked_for: bool = False
    """Whether a person assigned the device by name."""
    assigned_at: datetime | None = None
    sent_at: datetime | None = None
    started_at: datetime | None = None
    claimed_started_at: datetime | None = None
    retry_due: datetime | None = None
    progress_pct: int = 0
    ad_playing: bool = False
    by_pc: bool = False
    """Whether the PC claimed the current run. Such a run is not treated as stalled until it has reported progress."""
    error_code: str | None = None
    error_message: str | None = None
    stale_noted: list[int] = []
    """Earlier runs of which a late report was refused and recorded. Further late reports of these runs are refused
    without a record."""
    failures: tuple[Failure, ...] = ()
    """The failures of the assignment's attempts, oldest first."""

    @property
    def attempt(self) -> int:
        """The number of the current or next attempt."""
        return self.failed + 1

    @property
    def status(self) -> AssignmentStatus:
        return AssignmentStatus.RUNNING if self.phase is Phase.RUNNING else AssignmentStatus.PENDING


class Ended(msgspec.Struct, array_like=True, gc=False):
    """What is kept of an ended assignment, so that late reports and repeated commands get the right answer."""

    job_id: str
    device_id: str
    status: AssignmentStatus
    run: int
    failed: int
    replaced: bool = False
    late_noted: bool = False
    failures: tuple[Failure, ...] = ()


class Job(msgspec.Struct):
    job_id: str
    number: int
    """The number of the job in the order of creation."""
    spec: JobSpec
    created_at: datetime
    updated_at: datetime
    wanted: bool
    """Whether the job may become ACTIVE. False if it was created inactive and not resumed yet."""
    status: JobStatus = JobStatus.CREATED
    needs: list[str] = []
    activated_at: datetime | None = None
    ended_at: datetime | None = None
    paused_for: str | None = None
    """If the job was paused because it failed in the same way on several devices: the error rule that these failures
    matched. None: the job is not paused, or a person paused it."""
    named: dict[str, None] = {}
    """Devices that the job names: in its target, or because a person assigned them."""
    was_named: dict[str, None] = {}
    """The devices of `named`, once the job has ended. Kept, because the job may be opened again."""
    present: int = 0
    """How many of the devices in `named` could take work now."""
    live: dict[str, str] = {}
    """By device, the id of its live assignment of this job."""
    offered: dict[str, None] = {}
    """Ids of the live assignments that hold a slot and are not running."""
    waiting: dict[str, None] = {}
    """Ids of the live assignments without a slot."""
    returned_at: int | None = None
    """The value of `Fleet.arrivals` when the search found no device for the job. The job is not tried again until that
    value changes."""
    ran: dict[str, str] = {}
    """By device, the id of the assignment that ended there: it was completed, it failed for good, it was cancelled
    after it had run, or a person cancelled it. Such a device does not get the job again automatically."""
    taken_back: dict[str, None] = {}
    """Ids of ended assignments whose devices may still get the job: they were cancelled before they ran, or ended
    before the job was opened again. At most the last `TAKEN_BACK_MAX`, besides those in `cut_off`."""
    cut_off: dict[str, str] = {}
    """By device, the id of an assignment that a person had made by name and that was cancelled because the job was
    deactivated. It is opened again with the job."""
    proven_on: list[str] = []
    """The first two PCs where the job was completed. This proves that the job works, so another PC where all phones
    fail is itself at fault."""
    made: int = 0
    """How many assignments the job ever had. The ids of new assignments derive from this number."""
    in_flight: int = 0
    counted: int = 0
    """How many devices count toward the number of devices that the job is for (`Target.count`)."""
    completed: int = 0
    failed: int = 0
    replaced: int = 0
    """How many devices failed so that another device may replace them (`AttemptFailedFinal.replaced`). They are not in
    `counted`."""
    final_failures: dict[str, list[str]] = {}
    """By error rule, the devices where the job failed for good with it."""
    given_up_by: dict[str, None] = {}
    """Devices that reported that no device can do the job, if their reports count. The job ends when there are
    `END_REPORTS_MIN`."""
    poison_rules: list[str] = []
    """Error rules for which the job was paused as bad. Failures with these rules no longer count against devices."""
    put_first: int = 0
    """If a person put the job before all others: the number of the event. 0: its place in the queue follows from its
    priority and its age."""
    is_scheduled: bool = False
    """Whether the job waits for the time `spec.not_before`. It is not in the queue until then."""
    lives_from: datetime | None = None
    """When the 24 hours of the job begin: at the time that it was scheduled for, or when a person let it start at once.
    None: at its creation."""

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def has_ended(self) -> bool:
        return self.status not in OPEN

    @property
    def expires_at(self) -> datetime:
        return (self.lives_from or self.created_at) + JOB_LIVES

    @property
    def quota_left(self) -> int | None:
        """To how many more devices the job may go; None: to any number."""
        target = self.spec.target
        return None if target is None or target.count is None else max(0, target.count - self.counted)


OPEN = frozenset({JobStatus.CREATED, JobStatus.ACTIVE, JobStatus.PAUSED})


class Supply(msgspec.Struct):
    """The search for devices that can take the ACTIVE job: PC by PC, then updated by events."""

    job_id: str
    look: int
    """The number of this search. Results of an earlier search, which a PC may still hold, are ignored."""
    route: list[str] | None
    """PCs to search; None: all, in the order of registration."""
    cursor: int = 0
    free: int = 0
    """How many free devices the search has found so far."""
    back: int = 0
    expected: int = 0
    """How many devices may take the job later: they have work of another job, or they or their PCs are in a pause
    without work."""


class Fleet(msgspec.Struct):
    pcs: dict[str, Pc] = {}
    pc_order: list[str] = []
    devices: dict[str, Device] = {}
    device_by_serial: dict[str, str] = {}
    groups: dict[str, dict[str, None]] = {}
    """By group, the ids of its devices."""
    jobs: dict[str, Job] = {}
    jobs_made: int = 0
    open_jobs: int = 0
    queue: list[tuple[int, str]] = []
    """The jobs that wait for their turn, each as its number and its id, in the order of `turns.turn`."""
    supply: Supply | None = None
    looks: int = 0
    assignments: dict[str, Assignment] = {}
    ended: dict[str, Ended] = {}
    past: Past = msgspec.field(default_factory=Past)
    """Ended jobs without a live assignment, but not the deactivated ones."""
    shelved: Past = msgspec.field(default_factory=Past)
    """Deactivated jobs without a live assignment. They may be opened again."""
    withdrawing: dict[str, None] = {}
    """Jobs whose pending assignments are being withdrawn."""
    reopening: dict[str, None] = {}
    """Jobs that were opened again and still have `cut_off` assignments to open again."""
    hungry: dict[str, None] = {}
    """PCs with a free slot and a device that could take the ACTIVE job."""
    resuming: dict[str, None] = {}
    """PCs with a free slot and a device that could continue an assignment of the ACTIVE job."""
    available: int = 0
    available_in_group: dict[str, int] = {}
    arrivals: int = 0
    """Grows whenever a device becomes available."""
    next_job: str | None = None
    """If no job is ACTIVE: the first job in the queue that a device could take now."""
    unsettled: bool = False
    """Whether `next_job` must be computed again."""
    alerts: dict[str, str] = {}
    """The open alerts: `kind:subject` to the alert's id."""
    snoozes: dict[str, Snooze] = {}
    timers: Timers = msgspec.field(default_factory=Timers)
    ahead_s: float = 0.0
    """How many seconds the partition's time is ahead of the wall clock (`domain.wall_clock`). Only the times that jobs
    are scheduled for are on the wall clock."""

    @property
    def active(self) -> Job | None:
        return None if self.supply is None else self.jobs[self.supply.job_id]
