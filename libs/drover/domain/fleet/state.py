"""The state of the fleet's decider. Small by design: the log has the history, the scheduler's memory has presence.

Only `index.py` writes the counts and sets of devices that could take work.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from drover.domain.fleet.job_spec import JobSpec
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
    """Waits without a slot for its turn, its device or its job. Agents do not see it."""
    RETRYING = "retrying"
    """Keeps its slot until the delay after a failure ends. Agents do not see it."""
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
    """Slots in use: offered, sent, running or waiting for a retry, of any job."""
    offered: dict[str, None] = {}
    """Assignments that wait for their agent."""
    held_until: datetime | None = None
    failing: dict[str, datetime] = {}
    """Devices that went into error, and when: tells a bad PC from bad phones."""
    heard: int = 0
    """How many of its devices are alive."""
    silent: dict[str, datetime] = {}
    """Devices that fell silent, and when: tells a lost PC from a lost phone."""
    available: int = 0
    seen_in: int = 0
    """The search (`Supply.look`) that `countable`, `free` and `back` belong to."""
    countable: int = 0
    """Devices that the ACTIVE job may count on."""
    free: dict[str, None] = {}
    """Devices that could take the ACTIVE job and did not have it yet."""
    back: dict[str, None] = {}
    """Devices that could continue with it: their assignment waits."""


class DeviceSettings(msgspec.Struct, kw_only=True):
    """What a client may change on a device."""

    group_id: str
    pc_id: str
    capabilities: list[str]


class DeviceSpec(DeviceSettings, kw_only=True):
    """What a client may set when it registers a device."""

    serial_number: str


class Device(DeviceSpec, kw_only=True):
    device_id: str
    created_at: datetime
    updated_at: datetime
    alive: bool = False
    """Presence hears it."""
    error: DeviceError | None = None
    held_until: datetime | None = None
    untaken: int = 0
    failures: int = 0
    """Consecutive failures that count against it."""
    crashes: int = 0
    assignment: str | None = None
    """Its assignment that holds a slot."""
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


class Assignment(msgspec.Struct):
    """A live assignment. An ended one leaves only an `Ended`."""

    assignment_id: str
    job_id: str
    device_id: str
    created_at: datetime
    phase: Phase = Phase.WAITING
    run: int = 0
    failed: int = 0
    """Attempts used up."""
    rollbacks: int = 0
    has_run: bool = False
    asked_for: bool = False
    """A person assigned it by name."""
    assigned_at: datetime | None = None
    sent_at: datetime | None = None
    started_at: datetime | None = None
    claimed_started_at: datetime | None = None
    retry_due: datetime | None = None
    progress_pct: int = 0
    ad_playing: bool = False
    by_pc: bool = False
    """Its PC claimed the current run. Until it reports progress, it cannot stall."""
    error_code: str | None = None
    error_message: str | None = None
    stale_noted: list[int] = []
    """Past runs whose late report is recorded."""

    @property
    def attempt(self) -> int:
        """The number of the current or next attempt."""
        return self.failed + 1

    @property
    def status(self) -> AssignmentStatus:
        return AssignmentStatus.RUNNING if self.phase is Phase.RUNNING else AssignmentStatus.PENDING


class Ended(msgspec.Struct, array_like=True, gc=False):
    """The rest of an ended assignment, so that late reports and repeats get a correct answer."""

    job_id: str
    device_id: str
    status: AssignmentStatus
    run: int
    failed: int
    replaced: bool = False
    late_noted: bool = False


class Job(msgspec.Struct):
    job_id: str
    number: int
    """Order of creation."""
    spec: JobSpec
    created_at: datetime
    updated_at: datetime
    wanted: bool
    """It may become ACTIVE: it was not created inactive."""
    status: JobStatus = JobStatus.CREATED
    needs: list[str] = []
    activated_at: datetime | None = None
    ended_at: datetime | None = None
    paused_for: str | None = None
    """The rule that paused it as poison."""
    named: dict[str, None] = {}
    """Devices assigned by name."""
    was_named: dict[str, None] = {}
    """The same, of a job that has ended: it may be opened again."""
    present: int = 0
    """How many of the devices assigned by name could take work now."""
    live: dict[str, str] = {}
    """Device to its live assignment."""
    offered: dict[str, None] = {}
    """Live assignments that hold a slot and are not running."""
    waiting: dict[str, None] = {}
    """Live assignments without a slot."""
    returned_at: int | None = None
    """`Fleet.arrivals` when the search found no device: it is not tried again until that changes."""
    ran: dict[str, str] = {}
    """Devices where it ended, with success or not, and the assignment: it does not return there by itself."""
    taken_back: dict[str, None] = {}
    """Ended assignments whose device may still get the job."""
    proven_on: list[str] = []
    """The first two PCs that completed it: if it works on another PC, a PC that fails is itself at fault."""
    made: int = 0
    """How many assignments it ever had; their ids derive from it."""
    in_flight: int = 0
    counted: int = 0
    """Devices that count toward a target of a number of devices."""
    completed: int = 0
    failed: int = 0
    replaced: int = 0
    """Of those, the devices that another one may replace."""
    final_failures: dict[str, list[str]] = {}
    """By rule: devices where it failed for good."""
    poison_rules: list[str] = []
    """Rules whose failures no longer affect devices."""

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def has_ended(self) -> bool:
        return self.status not in OPEN

    @property
    def quota_left(self) -> int | None:
        """How many more devices it may go to; None: any number."""
        target = self.spec.target
        return None if target is None or target.count is None else max(0, target.count - self.counted)


OPEN = frozenset({JobStatus.CREATED, JobStatus.ACTIVE, JobStatus.PAUSED})


class Supply(msgspec.Struct):
    """The search for devices that can take the ACTIVE job: PC by PC, then updated by events."""

    job_id: str
    look: int
    """The number of this search: results that a PC keeps from an earlier one are void."""
    route: list[str] | None
    """PCs to search; None: all, in the order of registration."""
    cursor: int = 0
    free: int = 0
    """Free devices on the PCs searched so far."""
    back: int = 0
    expected: int = 0
    """Devices that may take the job later: they run another job, or are held for a while."""


class Fleet(msgspec.Struct):
    pcs: dict[str, Pc] = {}
    pc_order: list[str] = []
    devices: dict[str, Device] = {}
    device_by_serial: dict[str, str] = {}
    groups: dict[str, dict[str, None]] = {}
    """Devices of each group."""
    jobs: dict[str, Job] = {}
    jobs_made: int = 0
    open_jobs: int = 0
    queue: list[tuple[int, str]] = []
    """Jobs that wait for their turn, oldest first."""
    supply: Supply | None = None
    looks: int = 0
    assignments: dict[str, Assignment] = {}
    ended: dict[str, Ended] = {}
    withdrawing: dict[str, None] = {}
    """Jobs whose pending assignments are being withdrawn."""
    hungry: dict[str, None] = {}
    """PCs with a free slot and a free device."""
    resuming: dict[str, None] = {}
    """PCs with a free slot and a device that could continue."""
    available: int = 0
    available_in_group: dict[str, int] = {}
    arrivals: int = 0
    """Grows whenever a device becomes available."""
    next_job: str | None = None
    """If no job is ACTIVE: the oldest job that a device could take now."""
    unsettled: bool = False
    """`next_job` must be searched again."""
    alerts: dict[str, str] = {}
    """Open ones: `kind:subject` to id."""
    timers: Timers = msgspec.field(default_factory=Timers)

    @property
    def active(self) -> Job | None:
        return None if self.supply is None else self.jobs[self.supply.job_id]
