"""Compositions and their fields: the rows, and the columns that clients see."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from drover.domain.render.mapping_spec import CompositionSpec, Layer
from drover.readmodel.column import column, columns_of, pick
from drover.readmodel.relation import View, many, one, relation
from drover.readmodel.row import Row
from drover.readmodel.table import Index, KeyedTable

_render = partial(relation, "render")


class CompositionRow(CompositionSpec, Row, frozen=True, kw_only=True):
    id: str
    created_at: datetime
    updated_at: datetime
    """When the composition or one of its fields was changed last."""
    mapping_ids: list[int] = msgspec.field(default_factory=list)
    """The ids of the composition's fields. The event that removes a composition does not name its fields, which are
    removed, too."""


class FieldRow(Layer, Row, frozen=True, kw_only=True):
    """Which layer a field of a composition is shown in."""

    id: int
    composition_id: str
    field_name: str
    created_at: datetime
    updated_at: datetime


COMPOSITIONS: Final = KeyedTable(name="composition_rows", row=CompositionRow, key=("id",))
FIELDS: Final = KeyedTable(
    name="field_rows",
    row=FieldRow,
    key=("id",),
    indices=(Index("field_rows_composition_id", "composition_id, field_name", unique=True),),
)

RELATIONS: Final = (
    _render(
        "aep_compositions",
        (
            *pick(CompositionRow, "id"),
            *columns_of(CompositionSpec),
            column("fields", int, "cardinality(c.mapping_ids)", text="Number of its fields."),
            *pick(CompositionRow, "created_at", "updated_at"),
        ),
        view=View("composition_rows", "c"),
        embeds=(many("aep_field_mapping", "composition_id"),),
    ),
    _render(
        "aep_field_mapping",
        (
            *pick(FieldRow, "id", "composition_id", "field_name"),
            *columns_of(Layer),
            *pick(FieldRow, "created_at", "updated_at"),
        ),
        view=View("field_rows", "f"),
        embeds=(one("aep_compositions", "composition_id"),),
    ),
)
