"""Queries on a past state of the farm and the render queue, for the dashboard's pages. Pure.

They run in a separate process (`drover.history`), so each is a function of this module and returns bytes.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from drover.domain.decider import Decider
from drover.domain.fleet import FLEET
from drover.domain.fleet.state import Assignment, Device, Fleet, Job
from drover.domain.render import RENDER
from drover.domain.render.state import RenderQueue


def fleet_decider() -> Decider[Any]:
    return FLEET


def render_decider() -> Decider[Any]:
    return RENDER


class Work(msgspec.Struct, frozen=True):
    """The assignment that a device was working on at the requested moment."""

    assignment_id: str
    job_id: str
    status: str
    run: int
    attempt: int
    progress_pct: int
    started_at: datetime | None


class PastDevice(msgspec.Struct, frozen=True):
    id: str
    serial_number: str
    pc_id: str
    group_id: str
    status: str
    error_code: str | None
    error_until: datetime | None
    held_until: datetime | None
    work: Work | None


class PastPc(msgspec.Struct, frozen=True):
    id: str
    capacity: int
    held_until: datetime | None
    slots_used: int


class PastJob(msgspec.Struct, frozen=True):
    id: str
    title: str | None
    status: str
    created_at: datetime
    activated_at: datetime | None
    ended_at: datetime | None
    in_flight: int
    waiting: int
    completed: int
    failed: int
    priority: int
    put_first: int
    """As in `jobs`: with `priority` and `created_at` it gives the order of the queue at that moment."""
    not_before: datetime | None
    is_scheduled: bool


class OpenAlert(msgspec.Struct, frozen=True):
    id: str
    kind: str
    subject: str


class FleetMoment(msgspec.Struct, frozen=True):
    """The farm at a past moment, without heartbeats and progress between two events: the log does not record them."""

    at: datetime
    pcs: list[PastPc]
    devices: list[PastDevice]
    jobs: list[PastJob]
    """The jobs that had not ended at that moment, or had ended within the day before."""
    alerts: list[OpenAlert]


class PastRender(msgspec.Struct, frozen=True):
    id: int
    composition_id: str
    composition_name: str
    status: str
    worker_id: str | None
    progress: int
    run: int
    recovery_count: int
    created_at: datetime
    started_at: datetime | None


class RenderMoment(msgspec.Struct, frozen=True):
    at: datetime
    renders: list[PastRender]
    alerts: list[OpenAlert]


def fleet_moment(fleet: Fleet, at: datetime) -> bytes:
    return msgspec.json.encode(
        FleetMoment(
            at,
            [
                PastPc(pc.pc_id, pc.capacity, pc.held_until, pc.in_use)
                for pc in sorted(fleet.pcs.values(), key=lambda pc: pc.pc_id)
            ],
            [_device(fleet, device) for device in fleet.devices.values()],
            [_job(job) for job in sorted(fleet.jobs.values(), key=lambda job: job.number)],
            _alerts(fleet.alerts),
        )
    )


def _device(fleet: Fleet, device: Device) -> PastDevice:
    error = device.error
    work = None if device.assignment is None else _work(fleet.assignments[device.assignment])
    return PastDevice(
        id=device.device_id,
        serial_number=device.serial_number,
        pc_id=device.pc_id,
        group_id=device.group_id,
        status=device.status,
        error_code=None if error is None else error.rule,
        error_until=None if error is None else error.until,
        held_until=device.held_until,
        work=work,
    )


def _work(assignment: Assignment) -> Work:
    return Work(
        assignment_id=assignment.assignment_id,
        job_id=assignment.job_id,
        status=assignment.status,
        run=assignment.run,
        attempt=assignment.attempt,
        progress_pct=assignment.progress_pct,
        started_at=assignment.started_at,
    )


def _job(job: Job) -> PastJob:
    return PastJob(
        id=job.job_id,
        title=job.spec.title,
        status=job.status,
        created_at=job.created_at,
        activated_at=job.activated_at,
        ended_at=job.ended_at,
        in_flight=job.in_flight,
        waiting=len(job.waiting),
        completed=job.completed,
        failed=job.failed,
        priority=job.spec.priority,
        put_first=job.put_first,
        not_before=job.spec.not_before,
        is_scheduled=job.is_scheduled,
    )


def render_moment(queue: RenderQueue, at: datetime) -> bytes:
    return msgspec.json.encode(
        RenderMoment(
            at,
            [
                PastRender(
                    id=render.render_id,
                    composition_id=render.composition_id,
                    composition_name=render.composition,
                    status=render.status,
                    worker_id=render.worker_id,
                    progress=render.progress,
                    run=render.run,
                    recovery_count=render.recovery_count,
                    created_at=render.requested_at,
                    started_at=render.started_at,
                )
                for render in sorted(queue.renders.values(), key=lambda render: render.render_id)
            ],
            _alerts(queue.alerts),
        )
    )


def _alerts(alerts: dict[str, str]) -> list[OpenAlert]:
    return [OpenAlert(id_, *key.split(":", 1)) for key, id_ in alerts.items()]
