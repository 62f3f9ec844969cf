"""Writes of `aep_field_mapping`: which field of gfx_data goes to which layer. Workers notice changes by themselves."""

from __future__ import annotations

from typing import Final

from msgspec.structs import asdict

from drover.bus.messages import Accepted, Rejected
from drover.domain.render.commands import ChangeField, MapField, UnmapField
from drover.domain.render.mapping_spec import FieldChange, Layer
from drover.domain.spec import fields_of
from drover.gateway.rows import Row
from drover.gateway.writes.declaration import (
    Delete,
    Insert,
    Merge,
    Target,
    Update,
    WriteTable,
    can_change,
    each,
    refuse_empty,
)
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.shown import stored
from drover.readmodel.models import RELATIONS

_HINT: Final = f"{can_change(FieldChange)} For another field, delete this row and create one."


class NewField(Layer, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of `aep_field_mapping` as a client writes it."""

    composition_id: str | int
    field_name: str


def _map(edge: Edge, row: NewField) -> MapField:
    return MapField(**asdict(row) | {"composition_id": str(row.composition_id)})


def _mapped(edge: Edge, command: MapField, done: Accepted) -> Row:
    blank: Row = dict.fromkeys(RELATIONS["aep_field_mapping"].columns)
    return blank | asdict(command) | (done.result or {})


def _as_sent(command: MapField, refused: Rejected) -> ChangeField:
    assert refused.details is not None
    return ChangeField(refused.details["id"], **fields_of(Layer, command))


def _change(change: FieldChange, target: Target) -> ChangeField:
    return ChangeField(int(target.id), **asdict(change))


FIELD_MAPPING: Final = WriteTable(
    relation="aep_field_mapping",
    client=lambda edge, command: edge.render,
    insert=Insert(
        shape=NewField,
        command=_map,
        show=_mapped,
        merge=Merge(
            _as_sent, ("composition_id,field_name", "field_name,composition_id"), optional=("kind", "property")
        ),
    ),
    update=Update(
        shape=FieldChange,
        apply=each(_change, check=refuse_empty),
        show=stored("aep_field_mapping"),
        hint=_HINT,
    ),
    delete=Delete(command=lambda target: UnmapField(int(target.id))),
)
