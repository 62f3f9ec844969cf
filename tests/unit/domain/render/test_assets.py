"""gfx_data becomes assets: 003 §3.4 word for word, and all the shapes in which slots, fields and flags come."""

import pytest

from drover.domain.render.assets import (
    FIELDS_MAX,
    NAME_CHARS_MAX,
    SLOTS_MAX,
    TEXT_CHARS_MAX,
    Assets,
    GfxDataInvalid,
    to_assets,
)
from drover.domain.render.mapping_spec import Layer

IMAGES = "D:/assets"

GFX_DATA = {
    "composition_name": "_MAIN Mini Chip Count",
    "slots": [
        {
            "slot_number": 1,
            "fields": {
                "name": "PHIL IVEY",
                "stack": "250",
                "country": "United States",
            },
        }
    ],
    "single_fields": {
        "table_id": "Table 1",
        "round_info": "Final Table",
    },
}
"""003 §3.4.2."""

MAPPING = {
    "Slot 1 - name": Layer("Name 1"),
    "Slot 1 - stack": Layer("Stack 1"),
    "Single - table_id": Layer("Table ID"),
    "Single - round_info": Layer("Round Info"),
}


def assets_of(gfx_data, mapping=None, images=IMAGES) -> Assets:
    return to_assets(gfx_data, MAPPING if mapping is None else mapping, images=images)


def text(layer: str, value: str, property_: str = "Source Text"):
    return {"type": "data", "layerName": layer, "property": property_, "value": value}


def image(layer: str, src: str):
    return {"type": "image", "layerName": layer, "src": src}


def flag(number: int, country: str):
    return image(f"Flag {number}", f"D:/assets/flags/{country}.png")


@pytest.mark.req("RN-06")
def test_the_example_of_003():
    found = assets_of(GFX_DATA)
    assert found.assets == [
        {"type": "data", "layerName": "Name 1", "property": "Source Text", "value": "PHIL IVEY"},
        {"type": "data", "layerName": "Stack 1", "property": "Source Text", "value": "250"},
        {"type": "image", "layerName": "Flag 1", "src": "D:/assets/flags/United States.png"},
        {"type": "data", "layerName": "Table ID", "property": "Source Text", "value": "Table 1"},
        {"type": "data", "layerName": "Round Info", "property": "Source Text", "value": "Final Table"},
    ]
    assert "file://" + found.assets[2]["src"] == "file://D:/assets/flags/United States.png"  # 003 §3.4.1
    assert (found.unmapped, found.mapping_missing) == ([], False)


@pytest.mark.req("RN-06")
def test_what_the_code_of_003_makes_of_it_is_made_of_it_here_too():
    """Its own loops, with its keys; only that flags are looked for in the folder of images."""

    def gfx_to_nexrender_assets(gfx_data, aep_mapping):
        assets = []
        for slot_idx, slot in enumerate(gfx_data.get("slots", []), 1):
            for field_name, field_value in slot.get("fields", {}).items():
                layer_name = aep_mapping.get(f"Slot {slot_idx} - {field_name}")
                if layer_name:
                    assets.append(text(layer_name, str(field_value)))
        for field_name, field_value in gfx_data.get("single_fields", {}).items():
            layer_name = aep_mapping.get(f"Single - {field_name}")
            if layer_name:
                assets.append(text(layer_name, str(field_value)))
        for flag_idx, flag_path in enumerate(gfx_data.get("flags", []), 1):
            assets.append(image(f"Flag {flag_idx}", f"file://{flag_path}"))
        return assets

    gfx_data = {
        "slots": [
            {"slot_number": 1, "fields": {"name": "PHIL IVEY", "stack": 250}},
            {"slot_number": 2, "fields": {"name": "DANIEL NEGREANU", "stack": 180}},
        ],
        "single_fields": {"table_id": "Table 1"},
        "flags": ["D:/assets/flags/United States.png", "D:/assets/flags/Canada.png"],
    }
    layers = {
        "Slot 1 - name": "Name 1",
        "Slot 1 - stack": "Stack 1",
        "Slot 2 - name": "Name 2",
        "Slot 2 - stack": "Stack 2",
        "Single - table_id": "Table ID",
    }
    found = assets_of(gfx_data, {key: Layer(layer) for key, layer in layers.items()})
    theirs = gfx_to_nexrender_assets(gfx_data, layers)
    assert [one if "value" in one else one | {"src": "file://" + one["src"]} for one in found.assets] == theirs
    assert found.unmapped == []


@pytest.mark.req("RN-06")
def test_the_number_of_a_slot_beats_its_position():
    slots = [{"slot_number": 3, "fields": {"name": "C"}}, {"slot_number": 1, "fields": {"name": "A", "country": "KR"}}]
    mapping = {f"Slot {number} - name": Layer(f"Name {number}") for number in (1, 2, 3)}
    assert assets_of({"slots": slots}, mapping).assets == [text("Name 3", "C"), text("Name 1", "A"), flag(1, "KR")]


@pytest.mark.req("RN-06")
def test_a_slot_without_a_number_has_that_of_its_position():
    slots = [{"fields": {"name": "A"}}, {"fields": {"name": "B", "country": "JP"}}]
    mapping = {f"Slot {number} - name": Layer(f"Name {number}") for number in (1, 2)}
    assert assets_of({"slots": slots}, mapping).assets == [text("Name 1", "A"), text("Name 2", "B"), flag(2, "JP")]


@pytest.mark.req("RN-06")
@pytest.mark.parametrize(
    "gfx_data",
    [
        {"flags": ["KR", "US"]},
        {"flag_fields": ["KR", "US"]},
        {"flags": [{"country": "KR"}, {"country": "US"}]},
        {"flags": [{"slot_number": 2, "src": "flags/US.png"}, {"slot_number": 1, "path": "D:/assets/flags/KR.png"}]},
        {"flag_fields": {"1": "KR", "2": "US"}},
        {"flag_fields": {"Flag 1": "KR", "Flag 2": "US"}},
        {"flags": {"Flag1": "KR", "02": "US"}},
        {"flags": ["file://D:/assets/flags/KR.png", "file:///d:/ASSETS/flags/US.png"]},
        {"slots": [{"fields": {"country": "KR"}}, {"fields": {"country": "US"}}]},
        {"slots": [{"country": "KR"}, {"slot_number": 2, "country": "US"}]},
        {"flags": ["KR"], "flag_fields": {"2": "US"}},
    ],
)
def test_flags_come_in_many_shapes_and_need_no_mapping(gfx_data):
    found = assets_of(gfx_data, {})
    assert sorted(found.assets, key=lambda one: one["layerName"]) == [flag(1, "KR"), flag(2, "US")]
    assert (found.unmapped, found.fields) == ([], 2)


@pytest.mark.req("RN-06")
def test_a_mapping_gives_a_flag_another_layer_or_makes_a_text_of_it():
    assert assets_of({"flags": ["KR"]}, {"Flag 1": Layer("Country 1", "image")}).assets == [
        image("Country 1", "D:/assets/flags/KR.png")
    ]
    in_slot = {"slots": [{"fields": {"country": "KR"}}]}
    assert assets_of(in_slot, {"Slot 1 - country": Layer("Country 1")}).assets == [text("Country 1", "KR")]
    assert assets_of(in_slot, {"Flag 1": Layer("Country 1", "image")}).assets == [
        image("Country 1", "D:/assets/flags/KR.png")
    ]


@pytest.mark.req("RN-06")
def test_a_flag_by_another_name_needs_a_mapping():
    assert assets_of({"flags": {"dealer": "KR", "0": "US"}}, {"Flag - dealer": Layer("Dealer", "image")}) == Assets(
        [image("Dealer", "D:/assets/flags/KR.png")], ["Flag - 0"], 2
    )


@pytest.mark.req("RN-06")
def test_any_field_can_be_an_image():
    mapping = {"Single - logo": Layer("Logo", "image")}
    assert assets_of({"single_fields": {"logo": "sponsors/gg.PNG"}}, mapping).assets == [
        image("Logo", "D:/assets/sponsors/gg.PNG")
    ]


@pytest.mark.req("RN-06")
def test_another_property_than_the_text_can_be_set():
    mapping = {"Single - opacity": Layer("Box", "data", "Opacity"), "Single - title": Layer("Box")}
    assert assets_of({"single_fields": {"opacity": 50, "title": "x"}}, mapping).assets == [
        text("Box", "50", "Opacity"),
        text("Box", "x"),
    ]


@pytest.mark.req("RN-06")
def test_an_unknown_field_is_reported_by_the_key_that_a_mapping_would_need():
    found = assets_of(
        {
            "slots": [{"slot_number": 7, "fields": {"seat": 1}}],
            "single_fields": {"blinds": "100/200"},
            "flags": {"dealer": "KR"},
        },
        {},
    )
    assert found == Assets([], ["Slot 7 - seat", "Single - blinds", "Flag - dealer"], 3)
    assert found.mapping_missing


@pytest.mark.req("RN-06")
def test_what_stands_where_003_has_nothing_is_reported_by_its_place():
    found = assets_of(
        {
            "composition_name": "known, and no field",
            "title": "lost otherwise",
            "slots": [{"slot_number": 1, "name": "beside the fields", "fields": {}}],
            "flags": [{"slot_number": 1, "country": "KR", "path": "D:/assets/flags/US.png"}],
        },
        {},
    )
    assert found.assets == [flag(1, "KR")]
    assert found.unmapped == ["slots[0].name", "flags[0].path", "title"]


@pytest.mark.req("RN-06")
def test_a_composition_without_fields_is_not_missing_a_mapping():
    for gfx_data in ({}, {"composition_name": "x"}, {"composition_name": "x", "version": 3}, {"slots": [{}]}):
        assert not assets_of(gfx_data, {}).mapping_missing


@pytest.mark.req("RN-06")
def test_an_image_that_may_not_be_used_is_reported():
    found = assets_of({"flags": ["KR", "C:/Windows/x.png", "../x.png"]}, {})
    assert found.assets == [flag(1, "KR")]
    assert found.unmapped == ["Flag 2: not an image in D:/assets", "Flag 3: not an image in D:/assets"]
    assert found.unusable_images == ["C:/Windows/x.png (Flag 2)", "../x.png (Flag 3)"]


@pytest.mark.req("RN-06")
def test_fields_that_agreed_are_all_reported_when_another_replaces_them():
    both = {"Single - a": Layer("X"), "Single - b": Layer("X"), "Single - c": Layer("X")}
    found = assets_of({"single_fields": {"a": "1", "b": "1", "c": "2"}}, both)
    assert found.unmapped == [f"Single - {name}: X is given again by Single - c" for name in "ab"]


@pytest.mark.req("DI-16")
def test_flags_are_paths_below_the_image_folder():
    paths = ["D:/assets/flags/United States.png", "file://D:/assets/flags/KR.png", "flags/JP.png", "logos/wsop.png"]
    found = assets_of({"flags": paths}, {})
    assert [asset["src"] for asset in found.assets] == [
        "D:/assets/flags/United States.png",
        "D:/assets/flags/KR.png",
        "D:/assets/flags/JP.png",
        "D:/assets/logos/wsop.png",
    ]
    assert (found.unmapped, found.unusable_images) == ([], [])


@pytest.mark.req("DI-16")
def test_a_picture_that_nobody_named_is_not_missing():
    """A seat without a flag, and a country that is only a text for this composition."""
    gfx_data = {"flags": ["", None], "slots": [{"fields": {"name": "A", "country": "N/A"}}]}
    assert assets_of(gfx_data, {"Slot 1 - name": Layer("Name 1")}).unusable_images == []


@pytest.mark.req("DI-16")
def test_a_field_that_is_mapped_to_an_image_must_name_one():
    found = assets_of({"single_fields": {"logo": "C:/logo.png"}}, {"Single - logo": Layer("Logo", "image")})
    assert found.unusable_images == ["C:/logo.png (Single - logo)"]


@pytest.mark.req("DI-16", "RN-07")
def test_a_field_can_be_an_expression():
    """The Clock of 003 §3.4.1."""
    clock = {"Single - clock": Layer("Clock", "expression", "timeRemaining")}
    found = assets_of({"single_fields": {"clock": "time * 1000"}}, clock)
    assert found.assets == [
        {"type": "data", "layerName": "Clock", "property": "timeRemaining", "expression": "time * 1000"}
    ]
    empty = assets_of({"single_fields": {"clock": ""}}, clock)
    assert (empty.assets, empty.unmapped) == ([], ["Single - clock: an empty expression"])


@pytest.mark.req("RN-06")
def test_what_another_field_puts_its_own_value_over_is_reported():
    found = assets_of({"slots": [{"fields": {"country": "KR"}}], "flags": ["US"]}, {})
    assert found.assets == [flag(1, "US")]
    assert found.unmapped == ["Slot 1 - country: Flag 1 is given again by Flag 1"]
    same_number = {"slots": [{"slot_number": 1, "fields": {"name": "A"}}, {"slot_number": 1, "fields": {"name": "B"}}]}
    found = assets_of(same_number)
    assert found.assets == [text("Name 1", "B")]
    assert found.unmapped == ["Slot 1 - name: Name 1 is given again by Slot 1 - name"]


@pytest.mark.req("RN-06")
def test_the_same_said_twice_is_no_loss():
    twice = {"slots": [{"country": "KR", "fields": {"country": "KR"}}], "flags": ["D:/assets/flags/KR.png"]}
    assert assets_of(twice, {}) == Assets([flag(1, "KR")], [], 3)


@pytest.mark.req("RN-06")
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("250", "250"),
        (250, "250"),
        (250.0, "250"),
        (-0.0, "0"),
        (12.5, "12.5"),
        (0.1, "0.1"),
        (1_000_000, "1000000"),
        (1e20, "100000000000000000000"),
        (9007199254740993, "9007199254740993"),
        (-17, "-17"),
        (None, ""),
        (True, "true"),
        (False, "false"),
        ("", ""),
        ("  two spaces", "  two spaces"),
        ("첫째 줄\n둘째 줄", "첫째 줄\n둘째 줄"),
    ],
)
def test_values_are_shown_as_people_write_them(value, shown):
    assert assets_of({"single_fields": {"table_id": value}}).assets == [text("Table ID", shown)]


@pytest.mark.parametrize("empty", [None, [], {}, ""])
def test_nothing_at_all_is_nothing(empty):
    gfx_data = {"slots": empty, "single_fields": empty, "flags": empty, "flag_fields": empty}
    assert assets_of(gfx_data) == Assets([], [], 0)


@pytest.mark.req("RN-06")
@pytest.mark.parametrize(
    ("gfx_data", "place"),
    [
        ([], "it"),
        (None, "it"),
        ("text", "it"),
        ({"slots": {"1": {}}}, "slots"),
        ({"slots": "many"}, "slots"),
        ({"slots": [{}] * (SLOTS_MAX + 1)}, "slots"),
        ({"slots": [7]}, "slots[0]"),
        ({"slots": [{}, {"slot_number": 0}]}, "slots[1].slot_number"),
        ({"slots": [{"slot_number": -1}]}, "slots[0].slot_number"),
        ({"slots": [{"slot_number": True}]}, "slots[0].slot_number"),
        ({"slots": [{"slot_number": "1"}]}, "slots[0].slot_number"),
        ({"slots": [{"slot_number": 1.0}]}, "slots[0].slot_number"),
        ({"slots": [{"slot_number": 10_000}]}, "slots[0].slot_number"),
        ({"slots": [{"fields": ["name"]}]}, "slots[0].fields"),
        ({"slots": [{"fields": {"name": ["A"]}}]}, "slots[0].fields.name"),
        ({"slots": [{"country": {}}]}, "slots[0].country"),
        ({"single_fields": [1]}, "single_fields"),
        ({"single_fields": {"a": {"b": 1}}}, "single_fields.a"),
        ({"single_fields": {"a": "x" * (TEXT_CHARS_MAX + 1)}}, "single_fields.a"),
        ({"single_fields": {"a": 10**30}}, "single_fields.a"),
        ({"single_fields": {"a": -(10**5000)}}, "single_fields.a"),
        ({"single_fields": {"a": float("inf")}}, "single_fields.a"),
        ({"single_fields": {"a": float("nan")}}, "single_fields.a"),
        ({"single_fields": {"a": b"bytes"}}, "single_fields.a"),
        ({"single_fields": {"a" * (NAME_CHARS_MAX + 1): 1}}, "single_fields"),
        ({"single_fields": {7: 1}}, "single_fields"),
        ({"single_fields": {str(n): n for n in range(FIELDS_MAX + 1)}}, "single_fields"),
        ({"flags": "KR"}, "flags"),
        ({"flag_fields": 7}, "flag_fields"),
        ({"flags": ["KR"] * (SLOTS_MAX + 1)}, "flags"),
        ({"flags": [["KR"]]}, "flags[0]"),
        ({"flags": [{"country": ["KR"]}]}, "flags[0]"),
        ({"flags": [{"slot_number": 0, "country": "KR"}]}, "flags[0].slot_number"),
        ({"flags": {"1": ["KR"]}}, "flags.1"),
    ],
)
def test_what_003_does_not_describe_is_refused_and_its_place_is_told(gfx_data, place):
    with pytest.raises(GfxDataInvalid) as refused:
        assets_of(gfx_data)
    assert refused.value.place == place
    assert str(refused.value).startswith(f"gfx_data: {place} must be ")
    assert len(str(refused.value)) < 500


def test_the_most_of_everything_is_taken():
    gfx_data = {
        "slots": [{"fields": {"name": "x" * TEXT_CHARS_MAX}}] * SLOTS_MAX,
        "single_fields": {"a" * NAME_CHARS_MAX: 10**30 - 1} | {str(n): n for n in range(FIELDS_MAX - 1)},
        "flags": ["KR"] * SLOTS_MAX,
    }
    found = assets_of(gfx_data, {"Slot 200 - name": Layer("Last")})
    assert found.fields == SLOTS_MAX + FIELDS_MAX + SLOTS_MAX
    assert len(found.assets) == 1 + SLOTS_MAX
