"""Rows of compositions and of their fields, which say which field goes to which layer."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec.structs import replace

from drover.domain.render import events as e
from drover.domain.render.mapping_spec import CompositionSpec, Layer
from drover.domain.spec import fields_of
from drover.projection.projection import Tables, change, need
from drover.projection.rule import Rule, Rules
from drover.readmodel.render.mapping import COMPOSITIONS, FIELDS, CompositionRow, FieldRow


def _described(tables: Tables, event: e.CompositionDescribed) -> None:
    row = _composition(tables, event.composition_id, event.at)
    tables.put(COMPOSITIONS, replace(row, **fields_of(CompositionSpec, event), updated_at=event.at))


def _removed(tables: Tables, event: e.CompositionRemoved) -> None:
    for mapping_id in need(tables, COMPOSITIONS, event.composition_id).mapping_ids:
        tables.delete(FIELDS, mapping_id)
    tables.delete(COMPOSITIONS, event.composition_id)


def _mapped(tables: Tables, event: e.FieldMapped) -> None:
    known = tables.get(FIELDS, event.mapping_id)
    row = FieldRow(
        id=event.mapping_id,
        composition_id=event.composition_id,
        field_name=event.field_name,
        **fields_of(Layer, event),
        created_at=event.at if known is None else known.created_at,
        updated_at=event.at,
    )
    tables.put(FIELDS, row)
    composition = _composition(tables, event.composition_id, event.at)
    ids = composition.mapping_ids if known is not None else [*composition.mapping_ids, event.mapping_id]
    tables.put(COMPOSITIONS, replace(composition, mapping_ids=ids, updated_at=event.at))


def _unmapped(tables: Tables, event: e.FieldUnmapped) -> None:
    tables.delete(FIELDS, event.mapping_id)
    known = need(tables, COMPOSITIONS, event.composition_id).mapping_ids
    ids = [mapping_id for mapping_id in known if mapping_id != event.mapping_id]
    change(tables, COMPOSITIONS, event.composition_id, mapping_ids=ids, updated_at=event.at)


def _composition(tables: Tables, composition_id: str, at: datetime) -> CompositionRow:
    """Return the composition's row, or a new one: a field may be described before its composition."""
    return tables.get(COMPOSITIONS, composition_id) or CompositionRow(id=composition_id, created_at=at, updated_at=at)


_COMPOSITION: Final = (COMPOSITIONS, lambda event: event.composition_id)
_FIELD: Final = (FIELDS, lambda event: event.mapping_id)

MAPPING_RULES: Final[Rules] = {
    e.CompositionDescribed: Rule(_described, lambda event: (event.composition_id,), (_COMPOSITION,)),
    e.CompositionRemoved: Rule(_removed, lambda event: (event.composition_id,), (_COMPOSITION,)),
    e.FieldMapped: Rule(_mapped, lambda event: (event.composition_id,), (_COMPOSITION, _FIELD)),
    e.FieldUnmapped: Rule(_unmapped, lambda event: (event.composition_id,), (_COMPOSITION,)),
}
