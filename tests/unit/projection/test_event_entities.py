"""What events are about: every event names no more than can be searched by."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from drover.eventlog.codec import Codec
from drover.projector.app import PROJECTIONS
from drover.readmodel.events import ENTITIES_MAX, EVENTS
from tools.read_model_sql import table_ddl

SAMPLES = Path(__file__).parents[3] / "contracts" / "samples"


@pytest.mark.parametrize("projection", PROJECTIONS, ids=lambda projection: projection.context)
def test_no_event_is_about_more_than_the_table_has_indices_for(projection):
    rules = import_module(f"drover.projector.{projection.context}.projection").RULES
    codec = Codec(projection.events, projection.upcasters)
    most = 0
    for file in SAMPLES.glob(f"{projection.context}/*.json"):
        (event,) = codec.decode(msgspec.json.encode(msgspec.json.decode(file.read_bytes())) + b"\n")
        entities = rules[type(event)].entities(event)
        assert all(isinstance(entity, str) and entity for entity in entities), file.name
        most = max(most, len(entities))
    assert 0 < most <= ENTITIES_MAX


def test_each_place_of_an_entity_has_its_index():
    for number in range(1, ENTITIES_MAX + 1):
        assert f"(hashtextextended(entities[{number}], 0), at) WHERE entities[{number}] IS NOT NULL" in table_ddl(
            EVENTS
        )
