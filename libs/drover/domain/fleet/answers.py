"""Makes the answer to a command from the events that it recorded, and from nothing else. So a repeated command gets the
same answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from drover.domain.fleet import events as e
from drover.domain.fleet.job_spec import JobSpec
from drover.domain.fleet.reports import stale_rejection
from drover.domain.fleet.state import AssignmentStatus, DeviceSettings, DeviceSpec, DeviceStatus, JobStatus
from drover.domain.rules import answer_by
from drover.domain.spec import fields_of


def _device(event: e.DeviceRegistered, _: Sequence[e.FleetEvent]) -> dict[str, Any]:
    return {
        "id": event.device_id,
        **fields_of(DeviceSpec, event),
        "status": DeviceStatus.OFFLINE,
        "last_seen_at": None,
        "created_at": event.at,
        "updated_at": event.at,
    }


def _changed(event: e.DeviceChanged, _: Sequence[e.FleetEvent]) -> dict[str, Any]:
    return {"id": event.device_id, **fields_of(DeviceSettings, event), "updated_at": event.at}


def _pc(event: e.PcRegistered | e.PcCapacityChanged, events: Sequence[e.FleetEvent]) -> dict[str, Any]:
    for other in events:  # if the command was about a device and registered its PC, too, answer with the device
        if isinstance(other, e.DeviceRegistered):
            return _device(other, events)
        if isinstance(other, e.DeviceChanged):
            return _changed(other, events)
    return {"id": event.pc_id, "capacity": event.capacity}


def _job(event: e.JobCreated, events: Sequence[e.FleetEvent]) -> dict[str, Any]:
    active = any(isinstance(other, e.JobActivated) and other.job_id == event.job_id for other in events)
    return {
        "id": event.job_id,
        **fields_of(JobSpec, event),
        "is_active": event.is_active,
        "is_scheduled": event.not_before is not None,
        "status": JobStatus.ACTIVE if active else JobStatus.CREATED,
        "created_at": event.at,
        "updated_at": event.at,
    }


def _reopened(event: e.JobReopened, _: Sequence[e.FleetEvent]) -> None:
    """Give no answer. The command is about the job, not about the assignments that are opened again with it."""


def _assignment(event: e.AssignmentEvent, _: Sequence[e.FleetEvent]) -> dict[str, Any]:
    return {"id": event.assignment_id}


def _succeeded(event: e.AttemptSucceeded, _: Sequence[e.FleetEvent]) -> dict[str, Any]:
    return {
        **_attempt(event),
        "status": AssignmentStatus.COMPLETED,
        "progress_pct": 100,
        "retry_count": event.attempt - 1,
        "assigned_at": event.assigned_at,
        "started_at": event.started_at,
        "completed_at": event.at,
        "actual_duration_sec": event.actual_duration_sec,
        "did_like": event.did_like,
        "did_comment": event.did_comment,
        "did_playlist": event.did_playlist,
        "error_code": None,
        "error_message": None,
    }


def _failed(event: e.AttemptFailed, events: Sequence[e.FleetEvent]) -> dict[str, Any]:
    for other in events:  # if the agent has already started the next run by itself, answer with that run
        if isinstance(other, e.AttemptStarted) and other.run > event.run:
            return {**_running(other), "retry_count": event.attempt, "error_code": event.code}
    final = next((other for other in events if isinstance(other, e.AttemptFailedFinal)), None)
    return {
        **_attempt(event),
        "status": AssignmentStatus.PENDING if final is None else AssignmentStatus.FAILED,
        "retry_count": event.attempt,
        "progress_pct": 0,
        "completed_at": None if final is None else event.at,
        "error_code": event.code,
        "error_message": event.message if final is None else final.message,
    }


def _attempt(event: e.AttemptEvent) -> dict[str, Any]:
    return {
        "id": event.assignment_id,
        "job_id": event.job_id,
        "device_id": event.device_id,
        "run": event.run,
        "attempt": event.attempt,
    }


def _started(event: e.AttemptStarted, events: Sequence[e.FleetEvent]) -> dict[str, Any]:
    for other in events:  # if the report that started the run also ended it, answer with the end
        if isinstance(other, e.AttemptSucceeded):
            return _succeeded(other, events)
        if isinstance(other, e.AttemptFailed):
            return _failed(other, events)
    return _running(event)


def _running(event: e.AttemptStarted) -> dict[str, Any]:
    return {**_attempt(event), "status": AssignmentStatus.RUNNING, "progress_pct": event.progress_pct}


def _claimed(_: e.AttemptSent, events: Sequence[e.FleetEvent]) -> list[dict[str, Any]]:
    return [
        {"assignment_id": event.assignment_id, "run": event.run} for event in events if isinstance(event, e.AttemptSent)
    ]


def _timed_out(_: e.AttemptTimedOut, events: Sequence[e.FleetEvent]) -> dict[str, Any]:
    return {"timed_out": sum(isinstance(event, e.AttemptTimedOut) for event in events)}


def _refused(event: e.StaleReportRefused, _: Sequence[e.FleetEvent]) -> Any:
    return stale_rejection(event)


_TELL: Final[dict[type, Callable[[Any, Sequence[e.FleetEvent]], Any]]] = {
    e.DeviceRegistered: _device,
    e.DeviceChanged: _changed,
    e.PcRegistered: _pc,
    e.PcCapacityChanged: _pc,
    e.JobCreated: _job,
    e.JobReopened: _reopened,
    e.AssignmentRequested: _assignment,
    e.AssignmentReopened: _assignment,
    e.AttemptStarted: _started,
    e.AttemptSucceeded: _succeeded,
    e.AttemptFailed: _failed,
    e.AttemptSent: _claimed,
    e.AttemptTimedOut: _timed_out,
    e.StaleReportRefused: _refused,
}

answer: Final = answer_by(_TELL)
