"""Events into tables in memory, a minute apart, for tests of the fleet's fold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from drover.domain.event import Event
from drover.domain.fleet.events import DeviceRegistered, FleetEvent, JobCreated, PcRegistered
from drover.eventlog.codec import Codec
from drover.eventlog.log import StoredCommit
from drover.projection.memory import MemoryTables
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.fleet.assignments import ASSIGNMENTS, AssignmentRow
from drover.readmodel.fleet.attempts import TASKS_EVENT
from drover.readmodel.fleet.devices import DEVICES, DeviceRow
from drover.readmodel.fleet.jobs import JOBS, JobRow
from drover.readmodel.table import Key, KeyedTable, R

START = datetime(2026, 3, 1, tzinfo=UTC)
SEQ = 7
PHONE = "0197f0a0-0000-7000-8000-000000000001"
JOB = "0197f0a0-0000-7000-8000-0000000000a1"
WORK = "0197f0a0-0000-7000-8000-0000000000b1"
OTHER_WORK = "0197f0a0-0000-7000-8000-0000000000b2"


def minute(number: int) -> datetime:
    return START + timedelta(minutes=number)


class CheckedTables(MemoryTables):
    """Gives only rows that the event's rule has declared: others would not be loaded where it matters."""

    declared: set[tuple[str, Key]]

    def get(self, table: KeyedTable[R], key: Key) -> R | None:
        assert (table.name, key) in self.declared, f"{table.name} {key} is read but not declared"
        return super().get(table, key)

    def row(self, table: KeyedTable[R], key: Key) -> R:
        row = super().get(table, key)
        assert row is not None
        return row

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
        return [dict(zip(TASKS_EVENT.columns, row, strict=True)) for row in self.rows(TASKS_EVENT)]


def folded(*events: Event) -> CheckedTables:
    """The first event happens at minute 1."""
    tables = CheckedTables(FLEET_PROJECTION)
    codec = Codec(FleetEvent)
    for n, event in enumerate(events, start=1):
        event.n, event.at, event.by, event.cause = n, minute(n), event.by or "service_role", f"command-{n}"
        tables.declared = {(table.name, key_of(event)) for table, key_of in FLEET_PROJECTION.reads[type(event)]}
        tables.fold(StoredCommit(SEQ + n, "c", 1, START, codec.encode([event])))
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


def with_work(*events: Event) -> CheckedTables:
    """A PC, a phone and a job, in minutes 1 to 3; then these events, from minute 4 on."""
    return folded(PcRegistered("pc-1", 20), registered(), job_created(), *events)
