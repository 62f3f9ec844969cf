"""Every shape of every event that was ever released still decodes, and every event has at least one sample."""

from pathlib import Path

import msgspec
import pytest

from drover.domain.deciders import DECIDERS
from drover.eventlog.codec import Codec

SAMPLES = Path(__file__).parents[2] / "contracts" / "samples"
FILES = sorted(SAMPLES.glob("*/*.json"))


@pytest.mark.req("EV-09")
@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_released_event_still_decodes_with_everything_it_said(file):
    decider = DECIDERS[file.parent.name]
    fields = msgspec.json.decode(file.read_bytes())
    (event,) = Codec.of(decider).decode(msgspec.json.encode(fields) + b"\n")
    now = msgspec.to_builtins(event)
    if now["type"] == fields["type"]:
        assert {name: now[name] for name in fields} == fields


@pytest.mark.parametrize("decider", DECIDERS.values(), ids=lambda decider: decider.context)
def test_every_event_has_a_sample(decider):
    have = {file.name.partition(".")[0] for file in SAMPLES.glob(f"{decider.context}/*.json")}
    assert {event.__name__ for event in decider.events.__args__} - have == set()
