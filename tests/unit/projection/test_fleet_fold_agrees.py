"""The decider's state and the read model are two folds of one log: what both know, they say alike."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

import pytest

from drover.domain.alerts import key_of
from drover.domain.fleet.events import FleetEvent
from drover.domain.fleet.state import Assignment, Device, Fleet, Job, JobStatus, Pc, Phase
from drover.eventlog.codec import Codec
from drover.eventlog.log import StoredCommit
from drover.projection.memory import MemoryTables
from drover.projector.fleet import FLEET_PROJECTION
from drover.readmodel.alerts import ALERTS
from drover.readmodel.fleet.assignments import ASSIGNMENTS
from drover.readmodel.fleet.devices import DEVICES, PCS
from drover.readmodel.fleet.jobs import JOBS
from drover.testing.scenario import NOON
from tests.unit.projection.walking import Walk

STEPS = 2500
SEEDS = range(6)


def _pc(pc: Pc) -> dict[str, Any]:
    return {"capacity": pc.capacity, "held_until": pc.held_until, "updated_at": pc.updated_at}


def _device(device: Device) -> dict[str, Any]:
    error = device.error
    return {
        "group_id": device.group_id,
        "pc_id": device.pc_id,
        "capabilities": device.capabilities,
        "alive": device.alive,
        "running": device.running,
        "assignment_id": device.assignment and UUID(device.assignment),
        "error_rule": error and error.rule,
        "error_until": error and error.until,
        "error_condition": error and error.condition,
        "held_until": device.held_until,
        "updated_at": device.updated_at,
    }


def _assignment(assignment: Assignment) -> dict[str, Any]:
    """Not when it was made: the decider has forgotten that of one that was opened again.

    An advertisement matters to the decider only while the attempt runs.
    """
    return {
        "status": assignment.status,
        "phase": assignment.phase,
        "run": assignment.run,
        "attempt": assignment.attempt,
        "retry_count": assignment.failed,
        "progress_pct": assignment.progress_pct,
        "ad_playing": assignment.ad_playing and assignment.phase is Phase.RUNNING,
        "assigned_at": assignment.assigned_at,
        "retry_due_at": assignment.retry_due,
    }


def _job(job: Job) -> dict[str, Any]:
    return {
        "status": job.status,
        "is_active": job.wanted and job.status in (JobStatus.CREATED, JobStatus.ACTIVE),
        "needs": job.needs,
        "priority": job.spec.priority,
        "put_first": job.put_first,
        "not_before": job.spec.not_before,
        "is_scheduled": job.is_scheduled,
        "activated_at": job.activated_at,
        "ended_at": job.ended_at,
        "completed": job.completed,
        "failed": job.failed,
        "updated_at": job.updated_at,
    }


def compare(fleet: Fleet, tables: MemoryTables) -> None:
    """Live things in all that both know; ended ones in how they ended."""
    for table, things, shown in (
        (PCS, fleet.pcs, _pc),
        (DEVICES, fleet.devices, _device),
        (JOBS, fleet.jobs, _job),
        (ASSIGNMENTS, fleet.assignments, _assignment),
    ):
        for key, thing in things.items():
            row = tables.get(table, key if table is PCS else UUID(key))
            expected = shown(thing)
            assert {name: getattr(row, name) for name in expected} == expected, (table.name, key)
    for key, ended in fleet.ended.items():
        assignment = tables.get(ASSIGNMENTS, UUID(key))
        assert assignment is not None
        assert (assignment.status, assignment.run, assignment.retry_count) == (ended.status, ended.run, ended.failed)
    rows = [dict(zip(ALERTS.columns, row, strict=True)) for row in tables.rows(ALERTS)]
    assert {row["id"] for row in rows if row["resolved_at"] is None} == {*fleet.alerts.values()}
    for row in rows:
        if row["resolved_at"] is None:
            snooze = fleet.snoozes.get(key_of(row["kind"], row["subject"]))
            assert row["snoozed_until"] == (snooze and snooze.until)


@pytest.mark.parametrize("seed", SEEDS)
def test_decider_and_read_model_never_disagree(seed: int) -> None:
    walk, tables, codec = Walk(seed), MemoryTables(FLEET_PROJECTION), Codec(FleetEvent)
    seen: Counter[type] = Counter()
    commits = walk.start()
    for step in range(STEPS):
        commits.append(walk.step())
        for events in filter(None, commits):
            seen.update(map(type, events))
            tables.fold(StoredCommit(step, "c", 1, NOON, codec.encode(events)))
        commits = []
        if step % 10 == 0:
            compare(walk.fleet, tables)
    compare(walk.fleet, tables)
    for row in tables.rows(ASSIGNMENTS):
        assert not any(isinstance(value, int) and value < 0 for value in row)
    assert seen.total() > STEPS / 2, "the walk hardly came anywhere"


def test_the_walks_come_by_almost_every_type_of_event() -> None:
    seen: set[type] = set()
    for seed in SEEDS:
        walk = Walk(seed)
        for events in (*walk.start(), *(walk.step() for _ in range(STEPS))):
            seen.update(map(type, events))
    rare = {type_.__name__ for type_ in set(FleetEvent.__args__) - seen}
    assert rare <= {"TermStarted", "PcHeld", "PcHoldEnded"}
