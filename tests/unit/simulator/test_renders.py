"""The broadcast of the demo: requests that the platform takes, the same for the same seed."""

from __future__ import annotations

from itertools import islice

from drover.domain.render.assets import to_assets
from drover.domain.render.mapping_spec import Layer
from drover.simulator.renders import COMPOSITIONS, SLIP_EVERY, mappings, requests


def layers(composition_id):
    return {
        row["field_name"]: Layer(row["layer_name"]) for row in mappings() if row["composition_id"] == composition_id
    }


def test_every_request_has_a_layer_for_each_of_its_fields_save_the_slip():
    for number, request in enumerate(islice(requests(1), 100), 1):
        found = to_assets(request["gfx_data"], layers(request["composition_id"]), images="/images")
        assert found.assets
        assert found.unmapped == (["Slot 1 - nickname"] if number % SLIP_EVERY == 0 else [])
        assert request["composition_id"] in COMPOSITIONS


def test_the_same_seed_gives_the_same_broadcast():
    assert list(islice(requests(7), 20)) == list(islice(requests(7), 20))
    assert list(islice(requests(7), 20)) != list(islice(requests(8), 20))


def test_a_field_is_mapped_once_in_each_composition():
    keys = [(row["composition_id"], row["field_name"]) for row in mappings()]
    assert len(keys) == len(set(keys))
