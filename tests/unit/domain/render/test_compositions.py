"""Compositions and their fields: what administrators say, and the version by which caches know that it has changed."""

import pytest

from drover.domain.errors import Code
from drover.domain.render.commands import (
    ChangeField,
    DescribeComposition,
    GetComposition,
    GetRender,
    MapField,
    RemoveComposition,
    UnmapField,
)
from drover.domain.render.compositions import COMPOSITIONS_MAX, FIELDS_PER_COMPOSITION_MAX
from drover.domain.render.events import CompositionDescribed, CompositionRemoved, FieldMapped, FieldUnmapped
from tests.unit.domain.render.world import CHIPS, CLOCK, answered, queue, queue_of, requested

MODULE = "H.264 - Match Render Settings - 15 Mbps"
DESCRIBED = CompositionDescribed(CHIPS, "_MAIN Mini Chip Count", "cyprusdesign.aep", MODULE, 1)
NAME_1 = FieldMapped(
    mapping_id=1,
    composition_id=CHIPS,
    field_name="Slot 1 - name",
    layer_name="Name 1",
    kind="data",
    property="Source Text",
    version=2,
)


def mapped(composition_id, field_name, layer_name, **others):
    return MapField(composition_id=composition_id, field_name=field_name, layer_name=layer_name, **others)


def version_of(scenario, composition_id=CHIPS):
    """As caches see it: in the answer about a render, and in that about the composition."""
    scenario.when(GetComposition(composition_id))
    version = answered(scenario)["version"]
    scenario.when(GetRender(1))
    assert answered(scenario)["mapping_version"] == version
    return version


@pytest.mark.req("RN-07")
def test_a_composition_is_described_and_has_the_output_module_of_003_unless_told_otherwise():
    queue().when(DescribeComposition(CHIPS, name="_MAIN Mini Chip Count", template="cyprusdesign.aep")).then(DESCRIBED)
    queue().when(DescribeComposition(CHIPS, output_module="Lossless")).then(
        CompositionDescribed(CHIPS, "", "", "Lossless", 1)
    )


@pytest.mark.parametrize(
    ("change", "name", "template", "module"),
    [
        ({"name": "New"}, "New", "cyprusdesign.aep", MODULE),
        ({"template": "new.aep"}, "_MAIN Mini Chip Count", "new.aep", MODULE),
        ({"output_module": "Lossless"}, "_MAIN Mini Chip Count", "cyprusdesign.aep", "Lossless"),
        ({"name": "", "template": ""}, "", "", MODULE),
    ],
)
def test_what_is_not_said_stays_as_it_is(change, name, template, module):
    queue(DESCRIBED).when(DescribeComposition(CHIPS, **change)).then(
        CompositionDescribed(CHIPS, name, template, module, 2)
    )


def test_a_description_that_changes_nothing_is_no_event():
    scenario = queue(DESCRIBED).when(DescribeComposition(CHIPS)).then_nothing()
    scenario.when(
        DescribeComposition(CHIPS, name="_MAIN Mini Chip Count", template="cyprusdesign.aep", output_module=MODULE)
    ).then_nothing()


@pytest.mark.req("RN-06")
def test_a_field_is_mapped_with_or_without_a_description():
    queue(DESCRIBED).when(mapped(CHIPS, "Slot 1 - name", "Name 1")).then(NAME_1)
    queue().when(mapped(CLOCK, "Flag 1", "Flag 1", kind="image", property="Source")).then(
        FieldMapped(
            mapping_id=1,
            composition_id=CLOCK,
            field_name="Flag 1",
            layer_name="Flag 1",
            kind="image",
            property="Source",
            version=1,
        )
    )


@pytest.mark.req("RN-06")
def test_a_field_has_one_layer():
    queue(DESCRIBED, NAME_1).when(mapped(CHIPS, "Slot 1 - name", "Elsewhere")).then_rejected(
        Code.UNIQUE_VIOLATION, id=1
    )


@pytest.mark.req("RN-06")
def test_the_same_field_of_another_composition_is_another_one():
    queue(DESCRIBED, NAME_1).when(mapped(CLOCK, "Slot 1 - name", "Name 1")).then(
        FieldMapped(
            mapping_id=2,
            composition_id=CLOCK,
            field_name="Slot 1 - name",
            layer_name="Name 1",
            kind="data",
            property="Source Text",
            version=3,
        )
    )


@pytest.mark.parametrize(
    ("change", "layer", "kind", "property_"),
    [
        ({"layer_name": "Name A"}, "Name A", "data", "Source Text"),
        ({"kind": "image"}, "Name 1", "image", "Source Text"),
        ({"property": "Opacity"}, "Name 1", "data", "Opacity"),
    ],
)
def test_a_field_is_changed_and_what_is_not_said_stays(change, layer, kind, property_):
    scenario = queue(DESCRIBED, NAME_1).when(ChangeField(1, **change))
    scenario.then(
        FieldMapped(
            mapping_id=1,
            composition_id=CHIPS,
            field_name="Slot 1 - name",
            layer_name=layer,
            kind=kind,
            property=property_,
            version=3,
        )
    )
    field = queue_of(scenario).compositions[CHIPS].fields["Slot 1 - name"]
    assert (field.mapping_id, field.layer_name, field.kind, field.property) == (1, layer, kind, property_)
    assert queue_of(scenario).last_mapping_id == 1


def test_a_change_that_changes_nothing_is_no_event():
    queue(DESCRIBED, NAME_1).when(
        ChangeField(1, layer_name="Name 1", kind="data", property="Source Text")
    ).then_nothing()
    queue(DESCRIBED, NAME_1).when(ChangeField(1)).then_nothing()


def test_a_field_is_unmapped_and_its_number_is_not_given_again():
    scenario = queue(DESCRIBED, NAME_1).when(UnmapField(1)).then(FieldUnmapped(1, CHIPS, "Slot 1 - name", 3))
    assert (queue_of(scenario).mappings, queue_of(scenario).compositions[CHIPS].fields) == ({}, {})
    scenario.when(mapped(CHIPS, "Slot 1 - name", "Name 1")).then(
        FieldMapped(
            mapping_id=2,
            composition_id=CHIPS,
            field_name="Slot 1 - name",
            layer_name="Name 1",
            kind="data",
            property="Source Text",
            version=4,
        )
    )


@pytest.mark.parametrize("command", [ChangeField(9, layer_name="x"), UnmapField(9)])
def test_a_mapping_that_never_was_is_not_found(command):
    queue(DESCRIBED, NAME_1).when(command).then_rejected(Code.NOT_FOUND, id=9)


def test_a_composition_is_removed_with_all_its_fields():
    others = [
        FieldMapped(
            mapping_id=2,
            composition_id=CHIPS,
            field_name="Slot 2 - name",
            layer_name="Name 2",
            kind="data",
            property="Source Text",
            version=3,
        ),
        FieldMapped(
            mapping_id=3,
            composition_id=CLOCK,
            field_name="Single - clock",
            layer_name="Clock",
            kind="data",
            property="Source Text",
            version=4,
        ),
    ]
    scenario = queue(DESCRIBED, NAME_1, *others).when(RemoveComposition(CHIPS)).then(CompositionRemoved(CHIPS, 5))
    assert list(queue_of(scenario).compositions) == [CLOCK]
    assert queue_of(scenario).mappings == {3: (CLOCK, "Single - clock")}
    scenario.when(UnmapField(1)).then_rejected(Code.NOT_FOUND)
    scenario.when(RemoveComposition(CHIPS)).then_rejected(Code.NOT_FOUND)
    scenario.when(DescribeComposition(CHIPS, name="New")).then(CompositionDescribed(CHIPS, "New", "", MODULE, 6))


@pytest.mark.req("RN-13")
@pytest.mark.parametrize(
    "change",
    [
        DescribeComposition(CHIPS, name="New"),
        DescribeComposition(CHIPS, template="new.aep"),
        mapped(CHIPS, "Slot 2 - name", "Name 2"),
        ChangeField(1, layer_name="Name A"),
        UnmapField(1),
        RemoveComposition(CHIPS),
    ],
)
def test_every_change_of_a_composition_is_another_version_of_it(change):
    scenario = queue(requested(), DESCRIBED, NAME_1)
    before = version_of(scenario)
    assert version_of(scenario.when(change)) != before


@pytest.mark.req("RN-13")
def test_a_change_of_another_composition_is_none_of_this_one():
    scenario = queue(requested(), DESCRIBED, NAME_1)
    before = version_of(scenario)
    scenario.when(mapped(CLOCK, "Single - clock", "Clock")).when(DescribeComposition(CLOCK, name="x"))
    scenario.when(RemoveComposition(CLOCK))
    assert version_of(scenario) == before


@pytest.mark.req("RN-13")
def test_one_that_is_removed_and_made_anew_is_not_taken_for_the_old_one():
    scenario = queue(requested(), DESCRIBED)
    seen = [version_of(scenario)]
    for _ in range(3):
        seen.append(version_of(scenario.when(RemoveComposition(CHIPS))))
        assert seen[-1] == 0
        seen.append(version_of(scenario.when(DescribeComposition(CHIPS, name="_MAIN Mini Chip Count"))))
    made = [version for version in seen if version]
    assert made == sorted(set(made))


def test_compositions_have_a_bound():
    scenario = queue(
        *[CompositionDescribed(f"c{number}", "", "", "", number + 1) for number in range(COMPOSITIONS_MAX)]
    )
    scenario.when(DescribeComposition("one more")).then_rejected(Code.CONFLICT)
    scenario.when(mapped("one more", "Single - x", "X")).then_rejected(Code.CONFLICT)
    scenario.when(DescribeComposition("c1", name="of those that are there")).then(CompositionDescribed)
    scenario.when(mapped("c1", "Single - x", "X")).then(FieldMapped)
    scenario.when(RemoveComposition("c1")).when(DescribeComposition("one more")).then(CompositionDescribed)


def test_fields_of_a_composition_have_a_bound():
    fields = [
        FieldMapped(
            mapping_id=number,
            composition_id=CHIPS,
            field_name=f"Single - {number}",
            layer_name="X",
            kind="data",
            property="Source Text",
            version=number,
        )
        for number in range(1, FIELDS_PER_COMPOSITION_MAX + 1)
    ]
    scenario = queue(*fields).when(mapped(CHIPS, "Single - one more", "X")).then_rejected(Code.CONFLICT)
    scenario.when(mapped(CLOCK, "Single - one more", "X")).then(FieldMapped)
    scenario.when(UnmapField(1)).when(mapped(CHIPS, "Single - one more", "X")).then(FieldMapped)
