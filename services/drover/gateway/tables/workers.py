"""Writes of `workers`: registration, capacity and heartbeats. Document 002 (the operations queue) has this name for
PCs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from drover.bus.messages import Accepted
from drover.domain.fleet.commands import RegisterPc
from drover.domain.fleet.policy import PC_CAPACITY_DEFAULT
from drover.gateway.rows import Row
from drover.gateway.signs import hear_pc
from drover.gateway.tables.pcs import absent, missing, only_new
from drover.gateway.writes.declaration import Insert, Merge, Result, Target, Update, WriteTable
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.sending import Sending
from drover.gateway.writes.shown import stored
from drover.web.errors import invalid


class WorkerChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a PATCH may change: the capacity, which has two names. Every PATCH is also a heartbeat; the other columns
    have no further effect."""

    device_capacity: int | None = None
    max_devices: int | None = None
    status: Any = None
    last_heartbeat: Any = None
    last_heartbeat_at: Any = None
    last_seen_at: Any = None
    heartbeat_at: Any = None
    updated_at: Any = None

    @property
    def capacity(self) -> int | None:
        told = {one for one in (self.device_capacity, self.max_devices) if one is not None}
        if len(told) > 1:
            raise invalid("device_capacity and max_devices contradict each other", field="max_devices")
        return next(iter(told), None)


class NewWorker(WorkerChange):
    """A row of `workers` as a client writes it. An existing worker gets this capacity, if the row has one."""

    id: str = ""
    pc_id: str = ""


def _register(edge: Edge, row: NewWorker) -> RegisterPc:
    pc_id = row.id or row.pc_id
    if row.pc_id not in ("", pc_id):
        raise invalid("id and pc_id contradict each other", field="pc_id", value=row.pc_id[:64])
    pc = edge.roster.fleet.pcs.get(pc_id)
    before = PC_CAPACITY_DEFAULT if pc is None else pc.capacity
    return RegisterPc(pc_id, before if row.capacity is None else row.capacity)


def _registered(edge: Edge, command: RegisterPc, done: Accepted) -> Row:
    hear_pc(edge.telemetry, edge.roster.fleet, command.pc_id, datetime.now(UTC))
    pc = edge.roster.fleet.pcs.get(command.pc_id)
    return {
        "id": command.pc_id,
        "pc_id": command.pc_id,
        "device_capacity": command.capacity,
        "max_devices": command.capacity,
        "held_until": None if pc is None else pc.held_until,
        "created_at": None if pc is None else pc.created_at,
        "updated_at": None if pc is None else pc.updated_at,
    }


async def _apply(change: WorkerChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    edge, now, capacity = sending.edge, datetime.now(UTC), change.capacity
    if capacity is not None:
        sending.check(RegisterPc(target.id, capacity) for target in targets)
    results = await missing(edge, targets)
    there = [id_ for id_, error in results.items() if error is None]
    for pc_id in there:
        hear_pc(edge.telemetry, edge.roster.fleet, pc_id, now)
    if capacity is None:
        return list(results.values())
    outcomes = await sending.send([RegisterPc(id_, capacity) for id_ in there], there)
    return list((results | dict(zip(there, outcomes, strict=True))).values())


WORKERS: Final = WriteTable(
    relation="workers",
    client=lambda edge, command: edge.fleet,
    insert=Insert(
        shape=NewWorker,
        command=_register,
        show=_registered,
        names={"pc_id": "id", "capacity": "device_capacity"},
        merge=Merge(lambda command, refused: command, ("id", "pc_id"), only_new=only_new),
    ),
    update=Update(shape=WorkerChange, apply=_apply, show=stored("workers")),
    other_keys={"pc_id": lambda edge, pc_id: pc_id},
    absent=absent,
)
