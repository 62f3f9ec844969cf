"""Decides the commands of administrators: describe compositions, and map their fields to layers."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec.structs import asdict

from drover.domain.decider import NOTHING, Decision, accept, reject
from drover.domain.errors import Code
from drover.domain.render.commands import ChangeField, DescribeComposition, MapField, RemoveComposition, UnmapField
from drover.domain.render.events import CompositionDescribed, CompositionRemoved, FieldMapped, FieldUnmapped
from drover.domain.render.mapping_spec import Layer
from drover.domain.render.state import Composition, RenderQueue
from drover.domain.spec import changed, fields_of, spec_of

COMPOSITIONS_MAX: Final = 1000
FIELDS_PER_COMPOSITION_MAX: Final = 500


def describe_composition(queue: RenderQueue, command: DescribeComposition, now: datetime) -> Decision:
    known = queue.compositions.get(command.composition_id)
    if known is None and len(queue.compositions) >= COMPOSITIONS_MAX:
        return reject(Code.CONFLICT, f"There are {COMPOSITIONS_MAX} compositions; remove one first")
    if known is not None and command.is_new:
        id_ = command.composition_id
        return reject(Code.UNIQUE_VIOLATION, f"There is a composition {id_} already", field="composition_id", id=id_)
    spec = changed((known or Composition()).spec, command)
    if known is not None and spec == known.spec:
        return NOTHING
    version = queue.mapping_version + 1
    return accept(CompositionDescribed(command.composition_id, **asdict(spec), version=version))


def remove_composition(queue: RenderQueue, command: RemoveComposition, now: datetime) -> Decision:
    if command.composition_id not in queue.compositions:
        return reject(Code.NOT_FOUND, f"There is no composition {command.composition_id}")
    return accept(CompositionRemoved(command.composition_id, queue.mapping_version + 1))


def map_field(queue: RenderQueue, command: MapField, now: datetime) -> Decision:
    composition = queue.compositions.get(command.composition_id)
    if composition is None and len(queue.compositions) >= COMPOSITIONS_MAX:
        return reject(Code.CONFLICT, f"There are {COMPOSITIONS_MAX} compositions; remove one first")
    if composition is not None:
        if (field := composition.fields.get(command.field_name)) is not None:
            return reject(
                Code.UNIQUE_VIOLATION,
                f"{command.field_name} of {command.composition_id} has a layer already",
                id=field.mapping_id,
                **fields_of(Layer, field),
            )
        if len(composition.fields) >= FIELDS_PER_COMPOSITION_MAX:
            return reject(Code.CONFLICT, f"{command.composition_id} has {FIELDS_PER_COMPOSITION_MAX} fields already")
    version = queue.mapping_version + 1
    return accept(FieldMapped(queue.last_mapping_id + 1, **asdict(command), version=version))


def change_field(queue: RenderQueue, command: ChangeField, now: datetime) -> Decision:
    place = queue.mappings.get(command.mapping_id)
    if place is None:
        return _unknown(command.mapping_id)
    field = queue.compositions[place[0]].fields[place[1]]
    layer = changed(spec_of(Layer, field), command)
    if layer == spec_of(Layer, field):
        return NOTHING
    return accept(FieldMapped(command.mapping_id, *place, **asdict(layer), version=queue.mapping_version + 1))


def unmap_field(queue: RenderQueue, command: UnmapField, now: datetime) -> Decision:
    place = queue.mappings.get(command.mapping_id)
    if place is None:
        return _unknown(command.mapping_id)
    return accept(FieldUnmapped(command.mapping_id, *place, queue.mapping_version + 1))


def _unknown(mapping_id: int) -> Decision:
    return reject(Code.NOT_FOUND, f"There is no mapping {mapping_id}", id=mapping_id)
