"""The events of the fleet. Additive only: a breaking change is a new type and an upcaster."""

from __future__ import annotations

from datetime import datetime

import msgspec

from drover.domain.alerts import (
    AlertAcknowledged,
    AlertRaised,
    AlertResolved,
    AlertSnoozed,
    AlertSnoozeEnded,
)
from drover.domain.event import Event, TermStarted


class PcRegistered(Event):
    pc_id: str
    capacity: int


class PcCapacityChanged(Event):
    pc_id: str
    capacity: int


class PcHeld(Event):
    """All phones of the PC failed, so the PC itself is taken to be at fault. None of its phones gets work until this
    time."""

    pc_id: str
    until: datetime


class PcHoldEnded(Event):
    pc_id: str


class DeviceRegistered(Event):
    """A phone was registered. It is offline until its first sign of life."""

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
    """A sign of life arrived from an offline device. A device that is in error stays in error."""

    device_id: str


class DeviceWentOffline(Event):
    device_id: str
    last_seen: datetime | None
    """The time of the last sign of life, for people to read. Telemetry is not stored in the log."""


class DeviceQuarantined(Event):
    """The device is in error: it gets no work until the time `until`, until `condition` ends, or until a person resets
    it."""

    device_id: str
    rule: str
    until: datetime | None
    condition: str | None
    job_id: str | None
    """The job whose failures put the device into error. If that job turns out to be bad, the device is released."""


class DeviceReleased(Event):
    """The device left the status `error`, or was spared it because a failure was not its fault. Its count of failures
    is 0 again. Its status is busy, online or offline, as if there had been no error."""

    device_id: str
    reason: str
    """Why it was released. `time`: the error has lasted long enough. `condition`: the condition has ended.
    `poison_job`: the job was bad. `host`: its PC was at fault. `reset`: a person reset the device while it was running
    work."""


class DeviceReset(Event):
    """A person cleared the device's error. The device is offline until its next sign of life."""

    device_id: str


class DeviceHeld(Event):
    """The device did not fetch its offer, or fetched it and did not start it. It gets no offers until this time."""

    device_id: str
    until: datetime
    untaken: int
    """How many offers in a row the device did not fetch or did not start."""


class DeviceHoldEnded(Event):
    device_id: str


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The devices that a job is for: those that meet all conditions, and at most `count` of them."""

    group_id: str | None = None
    pc_id: str | None = None
    device_ids: tuple[str, ...] | None = None
    """Named devices. Empty: only devices that are assigned by name later."""
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
    priority: int = 0
    """The priority of the job. Events older than this field have 0: jobs went by their age alone."""
    not_before: datetime | None = None
    """The time of the wall clock that the job waits for. Events older than this field have None: jobs could start at
    once."""


class JobActivated(Event):
    """The job became the only ACTIVE one."""

    job_id: str


class JobReturned(Event):
    """All devices of the job became unavailable before it ran anywhere. The job returns to the queue, so that it does
    not block others."""

    job_id: str


class JobPaused(Event):
    job_id: str
    reason: str
    """Who paused the job. `admin`: a person. `poison`: three devices failed in the same way."""
    rule: str | None
    """The name of the error rule that three devices failed with. None: a person paused the job."""


class JobResumed(Event):
    job_id: str


class JobPrioritized(Event):
    """A person set the priority of the job. Its place in the queue follows from it again, even if the job had been put
    first."""

    job_id: str
    priority: int


class JobPutFirst(Event):
    """A person put the job before all others that wait. It stays there until it is paused, ends or gets a priority, or
    until another job is put first."""

    job_id: str


class JobScheduled(Event):
    """A person set the time that the job waits for, or let it start at once."""

    job_id: str
    not_before: datetime | None
    """A time of the wall clock. None: the job may start at once."""


class JobCameDue(Event):
    """The time that the job waited for has come. Unless it is paused, it is in the queue."""

    job_id: str


class JobReopened(Event):
    """A deactivated job was opened again, for every device that has not completed it."""

    job_id: str
    not_before: datetime | None = None
    """The time of the wall clock that the job waits for again, because it has not come yet. Events older than this
    field have None."""


class JobDeactivated(Event):
    job_id: str
    rule: str | None
    """The name of the error rule of the reports that no device can do the job. None: a person deactivated it."""
    skipped: int = 0
    """How many target devices had no assignment. Events older than this field have 0."""


class JobCancelled(Event):
    job_id: str
    skipped: int = 0
    """How many target devices had no assignment. Events older than this field have 0."""


class JobExpired(Event):
    job_id: str
    skipped: int = 0
    """How many target devices had no assignment. Events older than this field have 0."""


class JobCompleted(Event):
    job_id: str
    completed: int
    failed: int
    skipped: int
    """How many target devices have not run the job: they were absent, or their assignment still waits."""


class JobArchived(Event):
    """The decider forgets the job; the read models keep it."""

    job_id: str


class JobNeedAdded(Event):
    job_id: str
    capability: str


class SupplyAdvanced(Event):
    """The search for devices for the ACTIVE job has checked this many more PCs."""

    job_id: str
    pcs: int


class AssignmentEvent(Event):
    assignment_id: str
    job_id: str
    device_id: str


class AssignmentRequested(AssignmentEvent):
    """A person assigned a device to a job. The assignment waits for a slot."""


class AssignmentReopened(AssignmentEvent):
    """The assignment is pending again. It had failed with attempts left and was requested again, or its job was
    deactivated and opened again."""


class AssignmentParked(AssignmentEvent):
    """The assignment gave up its slot and waits until its device or its job is available again. It keeps its
    attempts."""

    reason: str


class AssignmentCancelled(AssignmentEvent):
    reason: str


class AttemptEvent(AssignmentEvent):
    run: int
    attempt: int


class AttemptCreated(AttemptEvent):
    """An attempt was created: it has a slot and waits until its agent fetches it."""

    pc_id: str


class AttemptSent(AttemptEvent):
    """The attempt was delivered to its agent for the first time."""

    timeout_at: datetime


class AttemptStarted(AttemptEvent):
    """The agent reported that the attempt runs."""

    progress_pct: int
    claimed_started_at: datetime | None
    timeout_at: datetime
    by_pc: bool = False
    """Whether the PC claimed the attempt. The claim counts as the start, and the PC need not report progress."""


class AttemptErrorNoted(AttemptEvent):
    """The agent reported an error and goes on. The error does not count as a failure."""

    code: str
    message: str | None


class AttemptProgressed(AttemptEvent):
    """The progress of the attempt passed another multiple of 10 %, an advertisement began or ended, or the agent
    reported when it had begun."""

    progress_pct: int
    ad_playing: bool
    claimed_started_at: datetime | None = None
    """When the attempt began by the agent's clock, if the agent reports it after the start."""


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
    """The error code, as the agent reported it."""
    rule: str
    """The name of the rule that applies to this error code."""
    message: str | None
    blamed: bool
    """Whether the failure counts against the device."""
    screenshot_ref: str | None = None
    activity_stack: str | None = None


class AttemptTimedOut(AttemptEvent):
    message: str
    blamed: bool


class AttemptRolledBack(AttemptEvent):
    """Running work was taken back, because its device fell silent or its agent gave the work back. The assignment waits
    for its device and has used up no attempt."""

    reason: str


class AttemptCancelled(AttemptEvent):
    """The attempt was withdrawn before it ran."""

    reason: str


class RetryScheduled(AttemptEvent):
    due: datetime | None
    """When the retry is due. None: as soon as the device, or the job, is available again."""


class AttemptFailedFinal(AttemptEvent):
    code: str
    rule: str
    message: str | None
    replaced: bool
    """Whether another device may get the job instead. If so, this device does not count toward the number of devices
    that the job is for (`Target.count`)."""
    counts: bool = False
    """Whether this failure is one of the reports that end the job for all devices once there are `END_REPORTS_MIN` of
    them. Events older than this field have False: at that time one report ended the job at once."""


class StaleReportRefused(AttemptEvent):
    """A report about a run that has ended was refused. Recorded once for each run; it has no effect."""

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
    | JobPrioritized
    | JobPutFirst
    | JobScheduled
    | JobCameDue
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
    | AlertAcknowledged
    | AlertSnoozed
    | AlertSnoozeEnded
)
