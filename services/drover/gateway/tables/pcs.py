"""Writes of `pcs`: register PCs, and change their capacity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from drover.bus.messages import Accepted, Outcome
from drover.domain.fleet.commands import RegisterPc
from drover.domain.fleet.policy import PC_CAPACITY_DEFAULT
from drover.domain.fleet.state import DeviceStatus, Fleet
from drover.gateway.rows import Row
from drover.gateway.writes.declaration import Insert, Merge, Result, Target, Update, WriteTable
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.sending import Sending
from drover.gateway.writes.shown import live
from drover.web.errors import ApiError, not_found, unavailable


class NewPc(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `pcs` as a client writes it. An existing PC gets this capacity."""

    id: str
    capacity: int = PC_CAPACITY_DEFAULT


class PcChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a PATCH may change."""

    capacity: int


def only_new(command: RegisterPc) -> RegisterPc:
    """Make the command that is refused if the PC exists."""
    return replace(command, is_new=True)


def absent(edge: Edge) -> ApiError:
    if not edge.roster.complete:
        return unavailable("The gateway has just started and is still loading the fleet")
    return not_found("PC")


async def missing(edge: Edge, targets: Sequence[Target]) -> dict[str, Result]:
    """Return an error for each PC that does not exist, and None for the others. A command that changes a PC would
    create it, which a PATCH must not do."""
    pcs = edge.roster.fleet.pcs
    if any(target.id not in pcs for target in targets):  # another process may just have registered it
        await edge.fleet.known_here()
    return {target.id: None if target.id in edge.roster.fleet.pcs else absent(edge) for target in targets}


async def _apply(change: PcChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    commands = {target.id: RegisterPc(target.id, change.capacity) for target in targets}
    sending.check(commands.values())
    results = await missing(sending.edge, targets)
    there = [id_ for id_, error in results.items() if error is None]
    outcomes: list[Outcome] = await sending.send([commands[id_] for id_ in there], there)
    return list((results | dict(zip(there, outcomes, strict=True))).values())


def _shown(edge: Edge, command: RegisterPc, done: Accepted) -> Row:
    # The roster may be late, so show the values of the command.
    return _row(edge, command.pc_id, done) | {"id": command.pc_id, "capacity": command.capacity}


def _row(edge: Edge, pc_id: str, done: Accepted | None) -> Row:
    return pc_row(edge.roster.fleet, pc_id) if pc_id in edge.roster.fleet.pcs else {"id": pc_id}


def pc_row(fleet: Fleet, pc_id: str) -> Row:
    """Make the columns of `pcs` from live state."""
    pc = fleet.pcs[pc_id]
    count = Counter(fleet.devices[device_id].status for device_id in pc.devices)
    return {
        "id": pc.pc_id,
        "capacity": pc.capacity,
        "created_at": pc.created_at,
        "updated_at": pc.updated_at,
        "held_until": pc.held_until,
        "device_count": len(pc.devices),
        **{status.value: count[status] for status in DeviceStatus},
    }


PCS: Final = WriteTable(
    relation="pcs",
    client=lambda edge, command: edge.fleet,
    insert=Insert(
        shape=NewPc,
        command=lambda edge, row: RegisterPc(row.id, row.capacity),
        show=_shown,
        unique="id",
        names={"pc_id": "id"},
        merge=Merge(lambda command, refused: command, ("id",), only_new=only_new),
    ),
    update=Update(shape=PcChange, apply=_apply, show=live(_row)),
)
