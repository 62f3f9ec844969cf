"""Of any gfx_data: every field is in an asset or told of; nothing but GfxDataInvalid is ever raised."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.domain.render.assets import GfxDataInvalid, to_assets
from drover.domain.render.images import image_path
from drover.domain.render.mapping_spec import Layer

IMAGES = "D:/assets"
ANY = settings(max_examples=100, deadline=None)
NAMES = st.sampled_from(["name", "stack", "country", "seat", "이름", "Slot 1 - name", ""])
VALUES = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(-1e9, 1e9) | st.text(max_size=12)
COUNTRIES = st.sampled_from(["KR", "US", "../x.png", "C:/x.png", "", "flags/KR.png", "D:/assets/a.png", "/x.png"])
FIELDS = st.dictionaries(NAMES, VALUES | COUNTRIES, max_size=4)
SLOTS = st.lists(
    st.fixed_dictionaries(
        {"fields": FIELDS}, optional={"slot_number": st.integers(1, 4), "country": COUNTRIES, "odd": VALUES}
    ),
    max_size=4,
)
FLAGS = (
    st.lists(COUNTRIES, max_size=4)
    | st.lists(
        st.fixed_dictionaries({"country": COUNTRIES}, optional={"slot_number": st.integers(1, 4), "path": COUNTRIES}),
        max_size=3,
    )
    | st.dictionaries(st.sampled_from(["1", "Flag 2", "dealer", "0"]), COUNTRIES, max_size=3)
)
GFX_DATA = st.fixed_dictionaries(
    {},
    optional={
        "composition_name": st.text(max_size=5),
        "slots": SLOTS,
        "single_fields": FIELDS,
        "flags": FLAGS,
        "flag_fields": FLAGS,
        "note": VALUES,
    },
)
LAYERS = st.builds(
    Layer,
    st.sampled_from(["A", "B", "C", "Flag 1"]),
    st.sampled_from(["data", "data", "image"]),
    st.just("Source Text"),
)
KEYS = st.sampled_from(
    [f"Slot {number} - {name}" for number in (1, 2, 3, 4) for name in ("name", "stack", "country", "이름")]
    + [f"Single - {name}" for name in ("name", "stack", "country", "이름")]
    + ["Flag 1", "Flag 2", "Flag - dealer"]
)
MAPPINGS = st.dictionaries(KEYS, LAYERS, max_size=12)


def fields_of(gfx_data):
    """Every field with the key that 003 gives it, its value, and the number of the flag that it is; found anew."""
    for position, slot in enumerate(gfx_data.get("slots", []), 1):
        number = slot.get("slot_number", position)
        for name, value in slot["fields"].items():
            yield f"Slot {number} - {name}", value, number if name == "country" else None
        if "country" in slot:
            yield f"Slot {number} - country", slot["country"], number
    for name, value in gfx_data.get("single_fields", {}).items():
        yield f"Single - {name}", value, None
    for place in ("flags", "flag_fields"):
        flags = gfx_data.get(place, [])
        if isinstance(flags, dict):
            known = {"1": 1, "Flag 2": 2}
            for name, value in flags.items():
                yield (f"Flag {known[name]}" if name in known else f"Flag - {name}"), value, known.get(name)
        else:
            for position, flag in enumerate(flags, 1):
                number = flag.get("slot_number", position) if isinstance(flag, dict) else position
                yield f"Flag {number}", flag["country"] if isinstance(flag, dict) else flag, number


def layer_of(key, flag, mapping):
    if key in mapping or flag is None:
        return mapping.get(key)
    return mapping.get(f"Flag {flag}", Layer(f"Flag {flag}", "image"))


def shown(value):
    """Numbers as 003 has them: no point where there is nothing behind it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value) if isinstance(value, float) and value == int(value) else value)


def given_to(layer, value):
    """What the layer gets; None where it is an image that may not be used."""
    return image_path(shown(value), IMAGES) if layer.kind == "image" else shown(value)


@pytest.mark.req("RN-06")
@ANY
@given(gfx_data=GFX_DATA, mapping=MAPPINGS)
def test_every_field_is_in_an_asset_or_told_of(gfx_data, mapping):
    found = to_assets(gfx_data, mapping, images=IMAGES)
    told = {entry.split(": ")[0] for entry in found.unmapped}
    placed = {(asset["type"], asset["layerName"], asset.get("value", asset.get("src"))) for asset in found.assets}
    fields = list(fields_of(gfx_data))
    assert found.fields == len(fields)
    for key, value, flag in fields:
        layer = layer_of(key, flag, mapping)
        in_an_asset = layer is not None and (layer.kind, layer.layer_name, given_to(layer, value)) in placed
        assert in_an_asset or key in told, (key, value)


@pytest.mark.req("RN-06")
@ANY
@given(gfx_data=GFX_DATA, mapping=MAPPINGS)
def test_a_layer_has_the_value_of_the_last_field_that_could_give_it_one(gfx_data, mapping):
    last = {}
    for key, value, flag in fields_of(gfx_data):
        layer = layer_of(key, flag, mapping)
        if layer is not None and given_to(layer, value) is not None:
            last[layer.kind, layer.layer_name] = given_to(layer, value)
    found = to_assets(gfx_data, mapping, images=IMAGES).assets
    assert {(one["type"], one["layerName"]): one.get("value", one.get("src")) for one in found} == last


@pytest.mark.req("RN-06")
@ANY
@given(gfx_data=GFX_DATA, mapping=MAPPINGS)
def test_nothing_is_made_up(gfx_data, mapping):
    """A layer has one value, of a field; every field that is told of is there; every image is in the folder."""
    found = to_assets(gfx_data, mapping, images=IMAGES)
    places = [(asset["type"], asset["layerName"], asset.get("property")) for asset in found.assets]
    assert len(places) == len(set(places)) <= found.fields
    assert len(found.unmapped) == len(set(found.unmapped))
    keys = {key for key, _, _ in fields_of(gfx_data)}
    for entry in found.unmapped:
        key = entry.split(": ")[0]
        assert key in keys or key == "note" or key.endswith((".odd", ".path")), entry
    for asset in found.assets:
        if asset["type"] == "image":
            assert asset["src"].startswith(IMAGES + "/")
            assert ".." not in asset["src"].split("/")
        assert all(isinstance(value, str) for value in asset.values())
    assert ("note" in found.unmapped) is ("note" in gfx_data)
    odd = {f"slots[{place}].odd" for place, slot in enumerate(gfx_data.get("slots", [])) if "odd" in slot}
    assert odd <= set(found.unmapped)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["slots", "single_fields", "flags", "flag_fields", "fields", "slot_number", "country", "path"]
            )
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
ADVERSE = JSON | st.dictionaries(
    st.sampled_from(["slots", "single_fields", "flags", "flag_fields", "composition_name"]) | st.integers(), JSON
)


@pytest.mark.req("RN-06")
@ANY
@given(gfx_data=ADVERSE, mapping=MAPPINGS, images=st.sampled_from([IMAGES, "", "/", "x"]) | st.text(max_size=6))
def test_whatever_it_is_it_is_taken_or_refused_as_invalid(gfx_data, mapping, images):
    with suppress(GfxDataInvalid):
        found = to_assets(gfx_data, mapping, images=images)
        assert isinstance(gfx_data, dict)
        assert all(isinstance(entry, str) for entry in found.unmapped)
        msgspec.json.encode(found.assets)


@ANY
@given(gfx_data=GFX_DATA, mapping=MAPPINGS)
def test_it_is_the_same_for_the_same_and_changes_nothing_that_it_is_given(gfx_data, mapping):
    before = msgspec.json.encode(gfx_data)
    assert to_assets(gfx_data, mapping, images=IMAGES) == to_assets(gfx_data, dict(mapping), images=IMAGES)
    assert msgspec.json.encode(gfx_data) == before
