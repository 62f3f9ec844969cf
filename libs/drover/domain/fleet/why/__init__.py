"""Explains why something waits: as sentences for people and as data for programs. It only reads the state."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from drover.domain.fleet.state import Fleet
from drover.domain.fleet.why.assignments import why_assignment, why_ended
from drover.domain.fleet.why.devices import why_device
from drover.domain.fleet.why.formatting import Reason
from drover.domain.fleet.why.jobs import why_job

__all__ = ["Explanation", "Reason", "why"]


class Explanation(msgspec.Struct, frozen=True):
    about: Literal["assignment", "job", "device"]
    id: str
    status: str
    reasons: list[Reason]
    """The reasons why it waits, never empty. The first reason in the list must be over before the others matter."""


def why(
    fleet: Fleet,
    now: datetime,
    *,
    assignment_id: str | None = None,
    job_id: str | None = None,
    device_id: str | None = None,
) -> Explanation | None:
    """Explain the status of a job, a device or an assignment. None if the state does not have it."""
    assert sum(one is not None for one in (assignment_id, job_id, device_id)) == 1
    if assignment_id is not None:
        if (assignment := fleet.assignments.get(assignment_id)) is not None:
            return Explanation("assignment", assignment_id, assignment.status, why_assignment(fleet, assignment, now))
        if (ended := fleet.ended.get(assignment_id)) is not None:
            return Explanation("assignment", assignment_id, ended.status, [why_ended(assignment_id, ended)])
    elif job_id is not None:
        if (job := fleet.jobs.get(job_id)) is not None:
            return Explanation("job", job_id, job.status, why_job(fleet, job))
    elif device_id is not None and (device := fleet.devices.get(device_id)) is not None:
        return Explanation("device", device_id, device.status, why_device(fleet, device, now))
    return None
