"""The events of the fleet. Additive only: a breaking change is a new type and an upcaster."""

from __future__ import annotations

from datetime import datetime

import msgspec

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.event import Event, TermStarted


class PcRegistered(Event):
    pc_id: str
    capacity: int


class PcCapacityChanged(Event):
    pc_id: str
    capacity: int


class PcHeld(Event):
    """All its phones fail, so the PC itself is at fault: none of them gets work for a while."""

    pc_id: str
    until: datetime


class PcHoldEnded(Event):
    pc_id: str


class DeviceRegistered(Event):
    """A phone was registered. It is offline until it is heard."""

    device_id: str
    serial_number: str
    group_id: str
    pc_id: str
    capabilities: list[str]


class DeviceChanged(Event):
    device_id: str
    group_id: str
    pc_id: str
    capabilities: list[str]


class DeviceCameOnline(Event):
    """The device is heard again. If it is in error, it stays in error."""

    device_id: str


class DeviceWentOffline(Event):
    device_id: str
    last_seen: datetime | None
    """The last sign of life in telemetry. Telemetry is volatile, so this is only for people to read."""


class DeviceQuarantined(Event):
    """The device is in error: no work until `until`, until `condition` ends, or until a person resets it."""

    device_id: str
    rule: str
    until: datetime | None
    condition: str | None
    job_id: str | None
    """The job whose failures caused it: if that job turns out to be bad, the device is released."""


class DeviceReleased(Event):
    """The error ended, or was prevented; failures are reset. Online if the device is heard, else offline."""

    device_id: str
    reason: str
    """`time`, `condition`, `poison_job`, `host`; `reset` of a device that runs something."""


class DeviceReset(Event):
    """A person cleared the error. Offline until the device is heard again."""

    device_id: str


class DeviceHeld(Event):
    """The device did not take its offer: no offers until this time."""

    device_id: str
    until: datetime
    untaken: int
    """Consecutive offers that it did not take."""


class DeviceHoldEnded(Event):
    device_id: str


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The devices that a job is for: those that meet all conditions, and at most `count` of them."""

    group_id: str | None = None
    pc_id: str | None = None
    device_ids: tuple[str, ...] | None = None
    """Empty: only devices that are assigned by name later."""
    count: int | None = None


class JobCreated(Event):
    job_id: str
    title: str | None
    target_url: str
    script_type: str
    duration_min_pct: int
    duration_max_pct: int
    prob_like: int
    prob_comment: int
    prob_playlist: int
    is_active: bool
    base_reward: float
    target: Target | None


class JobActivated(Event):
    """The job became the only ACTIVE one."""

    job_id: str


class JobReturned(Event):
    """All its devices left before it ran anywhere: it returns to the queue, so that it does not block others."""

    job_id: str


class JobPaused(Event):
    job_id: str
    reason: str
    """`admin` or `poison`."""
    rule: str | None
    """The error with which three devices failed."""


class JobResumed(Event):
    job_id: str


class JobReopened(Event):
    """A deactivated job is wanted again, by every device that has not completed it."""

    job_id: str


class JobDeactivated(Event):
    job_id: str
    rule: str | None
    """The error that proves the job bad on every device; None: a person deactivated it."""
    skipped: int = 0
    """Target devices that had no assignment. Events before this field say 0."""


class JobCancelled(Event):
    job_id: str
    skipped: int = 0
    """Target devices that had no assignment. Events before this field say 0."""


class JobExpired(Event):
    job_id: str
    skipped: int = 0
    """Target devices that had no assignment. Events before this field say 0."""


class JobCompleted(Event):
    job_id: str
    completed: int
    failed: int
    skipped: int
    """Target devices that were absent."""


class JobArchived(Event):
    """The decider forgets the job; the read models keep it."""

    job_id: str


class JobNeedAdded(Event):
    job_id: str
    capability: str


class SupplyAdvanced(Event):
    """The search for devices for the ACTIVE job looked at this many more PCs."""

    job_id: str
    pcs: int


class AssignmentEvent(Event):
    assignment_id: str
    job_id: str
    device_id: str


class AssignmentRequested(AssignmentEvent):
    """A person assigned a device to a job. The assignment waits for a slot."""


class AssignmentReopened(AssignmentEvent):
    """It had failed with attempts left, and was requested again."""


class AssignmentParked(AssignmentEvent):
    """It keeps its attempts and waits without a slot until its device or its job is back."""

    reason: str


class AssignmentCancelled(AssignmentEvent):
    reason: str


class AttemptEvent(AssignmentEvent):
    run: int
    attempt: int


class AttemptCreated(AttemptEvent):
    """The attempt has a slot and waits for its agent."""

    pc_id: str


class AttemptSent(AttemptEvent):
    """First delivery."""

    timeout_at: datetime


class AttemptStarted(AttemptEvent):
    """The agent reported that it runs."""

    progress_pct: int
    claimed_started_at: datetime | None
    timeout_at: datetime
    by_pc: bool = False
    """Its PC claimed it, which counts as its start. Such a run need not report progress."""


class AttemptErrorNoted(AttemptEvent):
    """The agent recorded an error and goes on. It does not count as a failure."""

    code: str
    message: str | None


class AttemptProgressed(AttemptEvent):
    """At each step of ten points, and when an advertisement begins or ends."""

    progress_pct: int
    ad_playing: bool


class AttemptSucceeded(AttemptEvent):
    assigned_at: datetime
    started_at: datetime
    actual_duration_sec: int
    did_like: bool
    did_comment: bool
    did_playlist: bool
    claimed_completed_at: datetime | None


class AttemptFailed(AttemptEvent):
    code: str
    """As the agent reported it."""
    rule: str
    """The rule that applies to it."""
    message: str | None
    blamed: bool
    """Whether it counts against the device."""
    screenshot_ref: str | None = None
    activity_stack: str | None = None


class AttemptTimedOut(AttemptEvent):
    message: str
    blamed: bool


class AttemptRolledBack(AttemptEvent):
    """It ran and its network was lost: it uses up no attempt, and the assignment waits for its device."""

    reason: str


class AttemptCancelled(AttemptEvent):
    """It was withdrawn before it ran."""

    reason: str


class RetryScheduled(AttemptEvent):
    due: datetime | None
    """None: as soon as its device, or its job, is back."""


class AttemptFailedFinal(AttemptEvent):
    code: str
    rule: str
    message: str | None
    replaced: bool
    """Another device may replace it: it does not count toward a target of a number of devices."""


class StaleReportRefused(AttemptEvent):
    """A report of a run that has ended. Recorded once for each run; it has no effect."""

    status: str
    current_run: int


FleetEvent = (
    TermStarted
    | PcRegistered
    | PcCapacityChanged
    | PcHeld
    | PcHoldEnded
    | DeviceRegistered
    | DeviceChanged
    | DeviceCameOnline
    | DeviceWentOffline
    | DeviceQuarantined
    | DeviceReleased
    | DeviceReset
    | DeviceHeld
    | DeviceHoldEnded
    | JobCreated
    | JobActivated
    | JobReturned
    | JobPaused
    | JobResumed
    | JobReopened
    | JobDeactivated
    | JobCancelled
    | JobExpired
    | JobCompleted
    | JobArchived
    | JobNeedAdded
    | SupplyAdvanced
    | AssignmentRequested
    | AssignmentReopened
    | AssignmentParked
    | AssignmentCancelled
    | AttemptCreated
    | AttemptSent
    | AttemptStarted
    | AttemptErrorNoted
    | AttemptProgressed
    | AttemptSucceeded
    | AttemptFailed
    | AttemptTimedOut
    | AttemptRolledBack
    | AttemptCancelled
    | RetryScheduled
    | AttemptFailedFinal
    | StaleReportRefused
    | AlertRaised
    | AlertResolved
)
