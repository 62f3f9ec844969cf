"""The render queue's fold: compositions, and which field goes to which layer."""

from __future__ import annotations

from typing import Any

from drover.domain.render import events as e
from drover.domain.render.mapping_spec import OUTPUT_MODULE_DEFAULT
from drover.readmodel.render.mapping import COMPOSITIONS, FIELDS
from tests.unit.projection.rendering import RenderTables, folded, second

CHIPS, CLOCK = "comp_chips", "comp_clock"


def mapped(mapping_id: int, field: str, layer: str = "Name 1", composition: str = CHIPS) -> e.FieldMapped:
    return e.FieldMapped(mapping_id, composition, field, layer, "data", "Source Text", mapping_id)


def fields(tables: RenderTables) -> dict[int, tuple[Any, ...]]:
    rows = map(FIELDS.from_record, tables.rows(FIELDS))
    return {row.id: (row.composition_id, row.field_name, row.layer_name) for row in rows}


def test_a_described_composition_shows_what_was_said_last() -> None:
    row = folded(
        e.CompositionDescribed(CHIPS, "Chips", "chips.aep", "H.264", 1),
        e.CompositionDescribed(CHIPS, "Chips", "other.aep", "H.265", 2),
    ).row(COMPOSITIONS, CHIPS)
    assert (row.name, row.template, row.output_module) == ("Chips", "other.aep", "H.265")
    assert (row.created_at, row.updated_at) == (second(0), second(1))


def test_a_composition_that_nobody_described_is_there_with_its_first_field() -> None:
    row = folded(mapped(1, "Slot 1 - name")).row(COMPOSITIONS, CHIPS)
    assert (row.name, row.template, row.output_module, row.mapping_ids) == ("", "", OUTPUT_MODULE_DEFAULT, [1])


def test_a_changed_field_keeps_its_id_and_when_it_was_made() -> None:
    tables = folded(mapped(1, "Slot 1 - name"), mapped(2, "Slot 2 - name"), mapped(1, "Slot 1 - name", "Name A"))
    assert fields(tables) == {1: (CHIPS, "Slot 1 - name", "Name A"), 2: (CHIPS, "Slot 2 - name", "Name 1")}
    row = tables.row(FIELDS, 1)
    assert (row.created_at, row.updated_at) == (second(0), second(2))
    assert tables.row(COMPOSITIONS, CHIPS).mapping_ids == [1, 2]


def test_a_field_that_is_unmapped_is_gone() -> None:
    tables = folded(
        mapped(1, "Slot 1 - name"), mapped(2, "Slot 2 - name"), e.FieldUnmapped(1, CHIPS, "Slot 1 - name", 3)
    )
    assert fields(tables) == {2: (CHIPS, "Slot 2 - name", "Name 1")}
    assert tables.row(COMPOSITIONS, CHIPS).mapping_ids == [2]


def test_a_composition_takes_its_fields_with_it_and_no_others() -> None:
    tables = folded(
        mapped(1, "Slot 1 - name"),
        mapped(2, "Single - clock", composition=CLOCK),
        mapped(3, "Slot 2 - name"),
        e.CompositionRemoved(CHIPS, 4),
    )
    assert fields(tables) == {2: (CLOCK, "Single - clock", "Name 1")}
    assert [COMPOSITIONS.from_record(row).id for row in tables.rows(COMPOSITIONS)] == [CLOCK]
