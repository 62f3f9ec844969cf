"""What can be asked of the fleet."""

from __future__ import annotations

from datetime import datetime

from drover.domain.decider import Command, Tick
from drover.domain.fleet.job_spec import JobSpec
from drover.domain.fleet.policy import PC_CAPACITY_DEFAULT


class RegisterPc(Command):
    """Make a PC known, or change its capacity."""

    pc_id: str
    capacity: int = PC_CAPACITY_DEFAULT


class RegisterDevice(Command):
    """Make a phone known. A PC that nobody registered yet comes with it."""

    device_id: str
    serial_number: str
    group_id: str
    pc_id: str
    capabilities: tuple[str, ...] = ()


class ChangeDevice(Command):
    """Move a phone, or change what it can do. What is None stays."""

    device_id: str
    group_id: str | None = None
    pc_id: str | None = None
    capabilities: tuple[str, ...] | None = None


class ResetDevice(Command):
    """A person says that a device in error is well again."""

    device_id: str


class MarkOnline(Command):
    """Presence heard an offline device."""

    device_id: str


class MarkOffline(Command):
    """Presence has not heard a device that does not run anything for 30 s."""

    device_id: str
    last_seen: datetime | None = None


class MarkSilent(Command):
    """Presence has not heard a busy device for 60 s."""

    device_id: str
    last_seen: datetime | None = None


class MarkStalled(Command):
    """Presence hears the device, but its progress stands still for too long."""

    assignment_id: str
    run: int


class ClearCondition(Command):
    """The device says that it is unlocked, or charged."""

    device_id: str
    condition: str


class CreateJob(JobSpec, Command, frozen=True, tag=True, kw_only=True):  # type: ignore[misc]  # others are mutable
    """All fields of a job, as the client gave them or with their defaults."""

    job_id: str
    is_active: bool = True


class PauseJob(Command):
    job_id: str


class ResumeJob(Command):
    """Let a paused job, or one that was created inactive, have its turn."""

    job_id: str


class DeactivateJob(Command):
    job_id: str


class CancelJob(Command):
    job_id: str


class AssignJob(Command):
    """Name a device for a job."""

    assignment_id: str
    job_id: str
    device_id: str


class CancelAssignment(Command):
    assignment_id: str


class SendAttempt(Command):
    """An agent fetches its work, or it is pushed to it."""

    assignment_id: str
    run: int


class ClaimForPc(Command):
    """A PC fetches work for several of its phones at once."""

    pc_id: str
    max_to_claim: int


class Report(Command):
    """What all reports have: of which assignment, and (unless the agent knows nothing of runs) of which run."""

    assignment_id: str
    run: int | None = None
    as_device: str | None = None
    """The device whose key was used, where it was bound to one: it reports for itself only."""


class ReportRunning(Report):
    can_wait = True

    progress_pct: int | None = None
    ad_playing: bool = False
    started_at: datetime | None = None


class ReportCompleted(Report):
    progress_pct: int | None = None
    actual_duration_sec: int | None = None
    did_like: bool = False
    did_comment: bool = False
    did_playlist: bool = False
    started_at: datetime | None = None
    completed_at: datetime | None = None
    error_code: str | None = None


class ReportFailed(Report):
    error_code: str | None = None
    error_message: str | None = None
    retry_count: int | None = None
    """What the agent thinks; the server counts for itself."""
    screenshot_ref: str | None = None
    activity_stack: str | None = None


class FireOverdue(Command):
    """What the clock would do next, asked for by a caller."""


class ReportThrottled(Command):
    """A gateway has stopped a device's requests: three 429 in a row."""

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
    | DeactivateJob
    | CancelJob
    | AssignJob
    | CancelAssignment
    | SendAttempt
    | ClaimForPc
    | ReportRunning
    | ReportCompleted
    | ReportFailed
    | FireOverdue
    | ReportThrottled
    | Tick
)
