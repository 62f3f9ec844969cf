"""Applies the events of compositions and their fields to the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drover.domain.render import events as e
from drover.domain.render.mapping_spec import CompositionSpec
from drover.domain.render.state import Composition, Field, RenderQueue
from drover.domain.spec import spec_of


def _described(queue: RenderQueue, event: e.CompositionDescribed) -> None:
    composition = queue.compositions.setdefault(event.composition_id, Composition())
    composition.spec = spec_of(CompositionSpec, event)
    composition.version = queue.mapping_version = event.version


def _removed(queue: RenderQueue, event: e.CompositionRemoved) -> None:
    composition = queue.compositions.pop(event.composition_id)
    for field in composition.fields.values():
        del queue.mappings[field.mapping_id]
    queue.mapping_version = event.version


def _mapped(queue: RenderQueue, event: e.FieldMapped) -> None:
    composition = queue.compositions.setdefault(event.composition_id, Composition())
    composition.fields[event.field_name] = spec_of(Field, event)
    composition.version = queue.mapping_version = event.version
    queue.mappings[event.mapping_id] = (event.composition_id, event.field_name)
    queue.last_mapping_id = max(queue.last_mapping_id, event.mapping_id)


def _unmapped(queue: RenderQueue, event: e.FieldUnmapped) -> None:
    composition = queue.compositions[event.composition_id]
    del composition.fields[event.field_name]
    composition.version = queue.mapping_version = event.version
    del queue.mappings[event.mapping_id]


EVOLVE: Final[dict[type, Callable[[RenderQueue, Any], None]]] = {
    e.CompositionDescribed: _described,
    e.CompositionRemoved: _removed,
    e.FieldMapped: _mapped,
    e.FieldUnmapped: _unmapped,
}
