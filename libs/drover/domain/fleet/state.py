"""What the fleet's decider knows. Small by design: history is in the log, presence in memory of the scheduler.

The counts and sets that say who could take work are kept by `index.py`; nothing else writes them.
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
    """Where a live assignment stands. All but RUNNING show as pending."""

    WAITING = "waiting"
    """Without a slot: for its turn, its device or its job. Agents do not see it."""
    RETRYING = "retrying"
    """With its slot, until the delay after a failure is over. Agents do not see it."""
    OFFERED = "offered"
    SENT = "sent"
    RUNNING = "running"


class AssignmentStatus(StrEnum):
    """What clients see."""

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
    """Slots taken: offered, sent, running or about to be retried, of whichever job."""
    offered: dict[str, None] = {}
    """Assignments that wait to be fetched."""
    held_until: datetime | None = None
    failing: dict[str, datetime] = {}
    """Devices that went into error, and when: for telling a bad PC from bad phones."""
    heard: int = 0
    """How many of its devices are alive."""
    silent: dict[str, datetime] = {}
    """Devices that fell silent, and when: for telling a PC that vanished from one phone that did."""
    available: int = 0
    seen_in: int = 0
    """The look (`Supply.look`) for which the next two hold."""
    countable: int = 0
    """Devices that the ACTIVE job may count on."""
    free: dict[str, None] = {}
    """Devices that could take the ACTIVE job and have not had it."""
    back: dict[str, None] = {}
    """Devices that could go on with it: an assignment of theirs waits."""


class Device(msgspec.Struct):
    device_id: str
    serial_number: str
    group_id: str
    pc_id: str
    capabilities: list[str]
    created_at: datetime
    updated_at: datetime
    alive: bool = False
    """Presence hears it."""
    error: DeviceError | None = None
    held_until: datetime | None = None
    untaken: int = 0
    failures: int = 0
    """In a row, those that count against it."""
    crashes: int = 0
    assignment: str | None = None
    """What it has in flight: one that holds a slot."""
    running: bool = False
    named_in: dict[str, None] = {}
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
    """A live one. Ended ones leave only an `Ended`."""

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
    """A person named its device for it."""
    assigned_at: datetime | None = None
    sent_at: datetime | None = None
    started_at: datetime | None = None
    claimed_started_at: datetime | None = None
    retry_due: datetime | None = None
    progress_pct: int = 0
    ad_playing: bool = False
    error_code: str | None = None
    error_message: str | None = None
    stale_noted: list[int] = []
    """Past runs of which a late report is on record."""

    @property
    def attempt(self) -> int:
        """The number of the attempt that is under way or comes next."""
        return self.failed + 1

    @property
    def status(self) -> AssignmentStatus:
        return AssignmentStatus.RUNNING if self.phase is Phase.RUNNING else AssignmentStatus.PENDING

    @property
    def holds_slot(self) -> bool:
        return self.phase is not Phase.WAITING


class Ended(msgspec.Struct, array_like=True, gc=False):
    """What is left of an assignment, so that late reports and repeats are told the truth."""

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
    """It may have its turn: it was not created inactive."""
    status: JobStatus = JobStatus.CREATED
    needs: list[str] = []
    activated_at: datetime | None = None
    ended_at: datetime | None = None
    paused_for: str | None = None
    """The rule for which it was paused as poison."""
    named: dict[str, None] = {}
    """Devices assigned by name."""
    present: int = 0
    """Of the devices that it names, how many could take work now."""
    live: dict[str, str] = {}
    """Device to its live assignment."""
    offered: dict[str, None] = {}
    """Live assignments that hold a slot and do not run."""
    waiting: dict[str, None] = {}
    """Live assignments without a slot."""
    returned_at: int | None = None
    """`Fleet.arrivals` when the look for its devices found none: until there are others it is not tried again."""
    ran: dict[str, str] = {}
    """Devices that have had it, with the assignment: it ended there, well or not, and does not come back by itself."""
    taken_back: dict[str, None] = {}
    """Ended assignments of devices that have not had it."""
    proven_on: list[str] = []
    """The first two PCs on which it was completed: where it works elsewhere, a PC that fails speaks against itself."""
    made: int = 0
    """Assignments ever, from which their ids derive."""
    in_flight: int = 0
    counted: int = 0
    """Devices that count for a target of a number."""
    completed: int = 0
    failed: int = 0
    replaced: int = 0
    """Of those, devices whose place another may take."""
    final_failures: dict[str, list[str]] = {}
    """By rule: devices where it failed finally."""
    poison_rules: list[str] = []
    """They have no further effect on devices."""

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def has_ended(self) -> bool:
        return self.status not in OPEN

    @property
    def quota_left(self) -> int | None:
        """Further devices it may go to; None: any number."""
        target = self.spec.target
        return None if target is None or target.count is None else max(0, target.count - self.counted)


OPEN = frozenset({JobStatus.CREATED, JobStatus.ACTIVE, JobStatus.PAUSED})


class Supply(msgspec.Struct):
    """The look for devices that can take the ACTIVE job: PC after PC, then kept up by what happens."""

    job_id: str
    look: int
    """Its number: what a PC remembers of an earlier look is void."""
    route: list[str] | None
    """PCs to look at; None: all, in the order of their registration."""
    cursor: int = 0
    free: int = 0
    """Free devices on the PCs seen so far."""
    back: int = 0
    expected: int = 0
    """Devices that the job may still come to, only not now: they are at work for another, or held back for a while."""


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
    """Jobs whose pending assignments are being taken back."""
    hungry: dict[str, None] = {}
    """PCs with a slot to fill and a free device to fill it."""
    resuming: dict[str, None] = {}
    """PCs with a slot for a device that could go on."""
    available: int = 0
    available_in_group: dict[str, int] = {}
    arrivals: int = 0
    """Grows whenever a device becomes available."""
    next_job: str | None = None
    """Without an ACTIVE job: the oldest that a device could take now."""
    unsettled: bool = False
    """`next_job` has to be found anew."""
    alerts: dict[str, str] = {}
    """Open ones: `kind:subject` to id."""
    timers: Timers = msgspec.field(default_factory=Timers)

    @property
    def active(self) -> Job | None:
        return None if self.supply is None else self.jobs[self.supply.job_id]
