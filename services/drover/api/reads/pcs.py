"""`/api/pcs`: PCs, each with the slots in use for phones."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import msgspec

from drover.api.reads.endpoint import Question, Subject, reads
from drover.api.reads.listing import Key, Listing, Page, Where
from drover.api.reads.parameters import text
from drover.api.reads.queries import QUERIES
from drover.api.reads.records import maker
from drover.api.reads.work import DeviceWork, make_work
from drover.domain.fleet.state import DeviceStatus
from drover.readmodel.fleet.devices import PcRow

CONTEXT: Final = "fleet"
PATH: Final = "/api/pcs"


class Slot(msgspec.Struct):
    """A slot of a PC that a device uses."""

    device_id: UUID
    serial_number: str
    device_status: DeviceStatus
    work: DeviceWork


class PcCounts(PcRow, frozen=True, kw_only=True):
    """A PC, and the number of its devices by status."""

    slots: int
    """How many slots the PC has: its capacity, but at most 20."""
    devices: int
    online: int
    offline: int
    busy: int
    error: int


class Pc(PcCounts, frozen=True, kw_only=True):
    in_use: list[Slot]
    """The slots in use, ordered by serial number."""


_make_pc: Final = maker(Pc, columns=PcCounts)

PCS: Final = Listing(
    "pcs",
    CONTEXT,
    Pc,
    "rm_fleet.pc_rows pc",
    key=(Key("id", "pc.id", str, "text"),),
    wheres=(Where(text("id", "These PCs.", many=True), "pc.id = ANY ({}::text[])"),),
    make=lambda record: _make_pc(record, in_use=[]),
    descending=False,
)


class Pcs(Subject):
    @reads(
        PATH,
        id="listPcs",
        tag="fleet",
        summary="PCs with their slots",
        answer=Page[Pc],
        contexts=(CONTEXT,),
        kinds=PCS.kinds,
    )
    async def list(self, question: Question) -> Page[Pc]:
        page = await PCS.page(self._endpoint.models, question.asked)
        pcs = {pc.id: pc for pc in page.items}
        slots = await self._endpoint.models.fetch(CONTEXT, QUERIES["slots"], list(pcs))
        for record in slots:
            pcs[record["pc_id"]].in_use.append(_slot(record))
        return page


def _slot(record: Any) -> Slot:
    return Slot(
        device_id=record["device_id"],
        serial_number=record["serial_number"],
        device_status=record["device_status"],
        work=make_work(record),
    )
