"""Events into tables in memory, a minute apart, for tests of the fleet's fold."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drover.domain.event import Event
from drover.domain.fleet.events import DeviceRegistered, JobCreated, PcRegistered
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.fleet.assignments import ASSIGNMENTS, AssignmentRow
from drover.readmodel.fleet.attempts import TASKS_EVENT
from drover.readmodel.fleet.devices import DEVICES, DeviceRow
from drover.readmodel.fleet.jobs import JOBS, JobRow
from tests.unit.projection.checked_tables import CheckedTables, stamp

SEQ = 7
PHONE = "0197f0a0-0000-7000-8000-000000000001"
JOB = "0197f0a0-0000-7000-8000-0000000000a1"
WORK = "0197f0a0-0000-7000-8000-0000000000b1"
OTHER_WORK = "0197f0a0-0000-7000-8000-0000000000b2"


class FleetTables(CheckedTables):
    @property
    def device(self) -> DeviceRow:
        return self.row(DEVICES, UUID(PHONE))

    @property
    def job(self) -> JobRow:
        return self.row(JOBS, UUID(JOB))

    @property
    def assignment(self) -> AssignmentRow:
        return self.row(ASSIGNMENTS, UUID(WORK))

    @property
    def history(self) -> list[dict[str, Any]]:
        return self.shown(TASKS_EVENT)


def folded(*events: Event) -> FleetTables:
    tables = FleetTables(FLEET_PROJECTION)
    stamp(events)
    tables.fold_events(SEQ + 1, *events)
    return tables


def registered() -> DeviceRegistered:
    return DeviceRegistered(PHONE, "SERIAL0001", "P1-G1", "pc-1", ["youtube"])


def job_created(**fields: Any) -> JobCreated:
    return JobCreated(
        **{
            "job_id": JOB,
            "title": "a video",
            "target_url": "https://youtu.be/x",
            "script_type": "youtube_watch",
            "duration_min_pct": 30,
            "duration_max_pct": 90,
            "prob_like": 50,
            "prob_comment": 30,
            "prob_playlist": 10,
            "is_active": True,
            "base_reward": 10.0,
            "target": None,
            **fields,
        }
    )


def with_work(*events: Event) -> FleetTables:
    """A PC, a phone and a job, in minutes 1 to 3; then these events, from minute 4 on."""
    return folded(PcRegistered("pc-1", 20), registered(), job_created(), *events)
