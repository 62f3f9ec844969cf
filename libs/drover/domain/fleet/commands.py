"""The commands of the fleet."""

from __future__ import annotations

from datetime import datetime

import msgspec

from drover.domain.alert_handling import AlertCommand
from drover.domain.decider import Command, Tick
from drover.domain.fleet.job_spec import JobSpec
from drover.domain.fleet.policy import PC_CAPACITY_DEFAULT
from drover.domain.limited_callers import ReportLimited


class RegisterPc(Command):
    """Register a PC, or change its capacity."""

    pc_id: str
    capacity: int = PC_CAPACITY_DEFAULT
    is_new: bool = False
    """Refuse the command if the PC is registered already."""


class RegisterDevice(Command):
    """Register a phone, and its PC if that is not registered yet."""

    device_id: str
    serial_number: str
    group_id: str
    pc_id: str
    capabilities: list[str] = msgspec.field(default_factory=list)


class ChangeDevice(Command):
    """Move a phone, or change its capabilities. A field that is None stays as it is."""

    device_id: str
    group_id: str | None = None
    pc_id: str | None = None
    capabilities: list[str] | None = None


class ResetDevice(Command):
    """Clear the error of a device, at the request of a person."""

    device_id: str


class MarkOnline(Command):
    """Mark an offline device as online, because a sign of life arrived from it."""

    device_id: str


class MarkOffline(Command):
    """Mark an idle device as offline, because no sign of life arrived from it for 30 s."""

    device_id: str
    last_seen: datetime | None = None


class MarkSilent(Command):
    """Take the work from a busy device, because no sign of life arrived from it for 60 s."""

    device_id: str
    last_seen: datetime | None = None


class MarkStalled(Command):
    """Fail an attempt whose device sends signs of life, but whose progress has not changed for too long."""

    assignment_id: str
    run: int


class ClearCondition(Command):
    """End the error of a device that reports that it is unlocked, or charged."""

    device_id: str
    condition: str


class CreateJob(JobSpec, Command, frozen=True, tag=True, kw_only=True):  # type: ignore[misc]  # others are mutable
    """Create a job. All fields are set; those that the client left out have their defaults."""

    job_id: str
    is_active: bool = True


class PauseJob(Command):
    job_id: str


class ResumeJob(Command):
    """Resume a paused job, activate one that was created inactive, or open one again that was deactivated."""

    job_id: str


class PrioritizeJob(Command):
    """Set the priority of an open job."""

    job_id: str
    priority: int


class RunJobNext(Command):
    """Put a waiting job before all others. The ACTIVE job goes on."""

    job_id: str


class ScheduleJob(Command):
    """Let an open job that is not ACTIVE wait for a time of the wall clock. None: it may start at once."""

    job_id: str
    not_before: datetime | None


class DeactivateJob(Command):
    job_id: str


class CancelJob(Command):
    job_id: str


class AssignJob(Command):
    """Assign a job to a device that the caller names."""

    assignment_id: str
    job_id: str
    device_id: str


class CancelAssignment(Command):
    assignment_id: str
    also_running: bool = False
    """Whether to cancel running work, too, because its runner stops it. Otherwise running work finishes."""
    only_if: str | None = None


class SendAttempt(Command):
    """Deliver an offered attempt to its agent, which has requested work or gets it pushed."""

    assignment_id: str
    run: int


class ClaimForPc(Command):
    """Fetch work for several phones of one PC at once."""

    pc_id: str
    max_to_claim: int


class Report(Command):
    """The fields that all reports of agents share: the assignment and its run (None from agents that do not know
    runs)."""

    assignment_id: str
    run: int | None = None
    as_device: str | None = None
    """The device that the caller's API key is bound to, if any. Such a key may report for that device only."""
    only_if: str | None = None
    """The status that the assignment must have, or the report is refused. None: any status."""
    names_run: bool = False
    """Whether the agent itself sent the number of the run. If not, the edge took the run from the row that the
    request's filters matched, which proves nothing about the caller."""
    farm_is_open: bool = False
    """Whether everybody may end jobs (`DROVER_ANON=full`), so that one report is enough to end one. Only the edge sets
    this field and `names_run`; a client cannot."""


class ReportRunning(Report):
    can_wait = True

    progress_pct: int | None = None
    ad_playing: bool = False
    started_at: datetime | None = None
    error_code: str | None = None
    """An error after which the agent goes on. If progress is 0 or `retry_count` has grown, the agent has started the
    work again."""
    error_message: str | None = None
    retry_count: int | None = None
    by_pc: bool = False
    """Whether the report comes from the runner of a PC. A runner need not report progress."""


class ReportCompleted(Report):
    progress_pct: int | None = None
    actual_duration_sec: int | None = None
    did_like: bool = False
    did_comment: bool = False
    did_playlist: bool = False
    started_at: datetime | None = None
    completed_at: datetime | None = None
    error_code: str | None = None
    infers: bool = False
    """Whether the report may leave out two fields: progress is then 100, and the duration is computed from the
    times."""


class ReportPending(Report):
    """The agent gives its work back. It will be offered again."""


class ReportFailed(Report):
    error_code: str | None = None
    error_message: str | None = None
    retry_count: int | None = None
    """How many retries the agent has counted. With three, this failure is final. The server also counts attempts
    itself."""
    screenshot_ref: str | None = None
    activity_stack: str | None = None


class ReportDeviceError(Command):
    """The agent says that its device is in error."""

    device_id: str


class FireOverdue(Command):
    """Fire the timers that are due, because a caller requests it."""


class ReportThrottled(Command):
    """Record that the gateway blocked a device, because it went on sending requests after three answers with status
    429."""

    device_id: str


FleetCommand = (
    RegisterPc
    | RegisterDevice
    | ChangeDevice
    | ResetDevice
    | MarkOnline
    | MarkOffline
    | MarkSilent
    | MarkStalled
    | ClearCondition
    | CreateJob
    | PauseJob
    | ResumeJob
    | PrioritizeJob
    | RunJobNext
    | ScheduleJob
    | DeactivateJob
    | CancelJob
    | AssignJob
    | CancelAssignment
    | SendAttempt
    | ClaimForPc
    | ReportRunning
    | ReportCompleted
    | ReportPending
    | ReportFailed
    | ReportDeviceError
    | FireOverdue
    | ReportThrottled
    | ReportLimited
    | AlertCommand
    | Tick
)
