"""Makes rows as clients see them from live state (the roster), with the columns of `RELATIONS`. No SQL, no HTTP.

A value that live state does not have, or would have to count row by row, is null here; the read model has it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from msgspec.structs import asdict

from drover.domain.fleet.policy import ATTEMPT_TIMEOUT, TIMEOUT_MESSAGE
from drover.domain.fleet.state import Assignment, Device, DeviceSpec, Fleet, Job, JobStatus, Phase
from drover.domain.spec import fields_of
from drover.readmodel.models import RELATIONS

Row = dict[str, Any]


_ENDED_BY: Final = {JobStatus.COMPLETED: "done", JobStatus.EXPIRED: "time", JobStatus.CANCELLED: "admin"}


def _in_order(relation: str, row: Row) -> Row:
    """Return the row with the columns that a read returns, in the same order."""
    return {name: row[name] for name in RELATIONS[relation].columns}


def device_row(device: Device, last_seen_at: datetime | None) -> Row:
    error = device.error
    row = {
        "id": device.device_id,
        **fields_of(DeviceSpec, device),
        "status": device.status,
        "last_seen_at": last_seen_at,
        "error_code": None if error is None else error.rule,
        "error_until": None if error is None else error.until,
        "error_condition": None if error is None else error.condition,
        "held_until": device.held_until,
        "created_at": device.created_at,
        "updated_at": device.updated_at,
    }
    return _in_order("devices", row)


def job_row(job: Job) -> Row:
    row = {
        "id": job.job_id,
        **asdict(job.spec),
        "is_active": job.wanted and job.status in (JobStatus.CREATED, JobStatus.ACTIVE),
        "created_at": job.created_at,
        "status": job.status,
        "needs": job.needs,
        "activated_at": job.activated_at,
        "ended_at": job.ended_at,
        "paused_for": (job.paused_for or "admin") if job.status is JobStatus.PAUSED else None,
        "end_reason": _ENDED_BY.get(job.status),
        "updated_at": job.updated_at,
        "put_first": job.put_first,
        "is_scheduled": job.is_scheduled,
        "pending": None,  # null: a count without those that wait for a retry would need a scan
        "running": job.in_flight - len(job.offered),
        "retrying": None,
        "completed": job.completed,
        "failed": job.failed,
        "cancelled": None,
        "skipped": None,
    }
    return _in_order("jobs", row)


def assignment_row(fleet: Fleet, assignment: Assignment) -> Row:
    """Make the row of an assignment that has not ended."""
    is_sent = assignment.phase in (Phase.SENT, Phase.RUNNING)  # else these times belong to an attempt that has ended
    sent_at = assignment.sent_at if is_sent else None
    started_at = assignment.started_at if is_sent else None
    moments = (assignment.created_at, assignment.assigned_at, sent_at, started_at)
    row = {
        "id": assignment.assignment_id,
        "job_id": assignment.job_id,
        "device_id": assignment.device_id,
        "pc_id": fleet.devices[assignment.device_id].pc_id,
        "status": assignment.status,
        "progress_pct": assignment.progress_pct,
        "actual_duration_sec": None,
        "did_like": False,
        "did_comment": False,
        "did_playlist": False,
        "error_code": assignment.error_code,
        "error_message": assignment.error_message,
        "retry_count": assignment.failed,
        "assigned_at": assignment.assigned_at,
        "started_at": started_at,
        "completed_at": None,
        "run": assignment.run,
        "attempt": assignment.attempt,
        "sent_at": sent_at,
        "timeout_at": None if sent_at is None else sent_at + ATTEMPT_TIMEOUT,
        "timed_out": assignment.error_code == "TIMEOUT" and assignment.error_message == TIMEOUT_MESSAGE,
        "retry_due_at": assignment.retry_due,
        "ad_playing": assignment.ad_playing,
        "reason": None,
        "created_at": assignment.created_at,
        "updated_at": max(moment for moment in moments if moment is not None),
    }
    return _in_order("job_assignments", row)


def offer_row(fleet: Fleet, assignment: Assignment) -> Row:
    """Make the row of an assignment with its job embedded, as agents get their work."""
    return assignment_row(fleet, assignment) | {"jobs": job_row(fleet.jobs[assignment.job_id])}
