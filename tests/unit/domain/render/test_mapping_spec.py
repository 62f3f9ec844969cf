"""What a client may set on a composition and on a field's layer, and those who have the same fields."""

import pytest

from drover.domain.render.commands import ChangeField, DescribeComposition, MapField
from drover.domain.render.events import CompositionDescribed, FieldMapped
from drover.domain.render.mapping_spec import CompositionChange, CompositionSpec, FieldChange, Layer
from drover.domain.render.state import Field
from drover.readmodel.render.mapping import CompositionRow, FieldRow


@pytest.mark.parametrize(
    ("spec", "others"),
    [
        (CompositionSpec, (CompositionChange, DescribeComposition, CompositionDescribed, CompositionRow)),
        (Layer, (FieldChange, MapField, ChangeField, FieldMapped, Field, FieldRow)),
    ],
)
def test_change_command_event_state_and_row_have_all_of_its_fields(spec, others):
    for other in others:
        assert set(spec.__struct_fields__) <= set(other.__struct_fields__), other


@pytest.mark.parametrize(("spec", "change"), [(CompositionSpec, CompositionChange), (Layer, FieldChange)])
def test_a_change_can_set_exactly_its_fields_and_none_of_them_by_default(spec, change):
    assert change.__struct_fields__ == spec.__struct_fields__
    assert all(getattr(change(), name) is None for name in change.__struct_fields__)
