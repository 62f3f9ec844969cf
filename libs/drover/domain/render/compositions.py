"""What administrators do with compositions: describe them, and map fields to layers."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from drover.domain.decider import NOTHING, Decision, accept, reject
from drover.domain.errors import Code
from drover.domain.render.commands import ChangeField, DescribeComposition, MapField, RemoveComposition, UnmapField
from drover.domain.render.events import CompositionDescribed, CompositionRemoved, FieldMapped, FieldUnmapped
from drover.domain.render.state import Composition, RenderQueue

COMPOSITIONS_MAX: Final = 1000
FIELDS_PER_COMPOSITION_MAX: Final = 500


def describe_composition(queue: RenderQueue, command: DescribeComposition, now: datetime) -> Decision:
    known = queue.compositions.get(command.composition_id)
    if known is None and len(queue.compositions) >= COMPOSITIONS_MAX:
        return reject(Code.CONFLICT, f"There are {COMPOSITIONS_MAX} compositions; remove one first")
    before = known or Composition()
    name = before.name if command.name is None else command.name
    template = before.template if command.template is None else command.template
    module = before.output_module if command.output_module is None else command.output_module
    if known is not None and (name, template, module) == (known.name, known.template, known.output_module):
        return NOTHING
    version = queue.mapping_version + 1
    return accept(CompositionDescribed(command.composition_id, name, template, module, version))


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
            )
        if len(composition.fields) >= FIELDS_PER_COMPOSITION_MAX:
            return reject(Code.CONFLICT, f"{command.composition_id} has {FIELDS_PER_COMPOSITION_MAX} fields already")
    return accept(
        FieldMapped(
            mapping_id=queue.last_mapping_id + 1,
            composition_id=command.composition_id,
            field_name=command.field_name,
            layer_name=command.layer_name,
            kind=command.kind,
            property=command.property,
            version=queue.mapping_version + 1,
        )
    )


def change_field(queue: RenderQueue, command: ChangeField, now: datetime) -> Decision:
    place = queue.mappings.get(command.mapping_id)
    if place is None:
        return _unknown(command.mapping_id)
    field = queue.compositions[place[0]].fields[place[1]]
    changed = FieldMapped(
        command.mapping_id,
        *place,
        field.layer_name if command.layer_name is None else command.layer_name,
        field.kind if command.kind is None else command.kind,
        field.property if command.property is None else command.property,
        queue.mapping_version + 1,
    )
    if (changed.layer_name, changed.kind, changed.property) == (field.layer_name, field.kind, field.property):
        return NOTHING
    return accept(changed)


def unmap_field(queue: RenderQueue, command: UnmapField, now: datetime) -> Decision:
    place = queue.mappings.get(command.mapping_id)
    if place is None:
        return _unknown(command.mapping_id)
    return accept(FieldUnmapped(command.mapping_id, *place, queue.mapping_version + 1))


def _unknown(mapping_id: int) -> Decision:
    return reject(Code.NOT_FOUND, f"There is no mapping {mapping_id}", id=mapping_id)
