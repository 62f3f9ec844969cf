"""Events as CloudEvents 1.0: what the specification asks for, and that a reader of it understands."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from drover.archive.text import Placed
from drover.cli.events_cloud import cloud_event
from drover.cli.record import records
from drover.eventlog.log import StoredCommit

from .conftest import BEGAN, CODEC, registered

SAMPLES = sorted((Path(__file__).parents[3] / "contracts/samples").glob("*/*.json"))
ATTRIBUTE = re.compile(r"[a-z0-9]{1,20}")
"""Names of attributes, by the specification."""


def committed(payload, *, seq=7):
    """A commit at its place, and its only event."""
    commit = StoredCommit(seq, "x", 3, BEGAN, payload)
    (record,) = records(commit)
    return Placed("main", commit), record


def sample(path):
    return committed(msgspec.json.encode(msgspec.json.decode(path.read_bytes())) + b"\n")


@pytest.mark.req("EV-06", "EV-09")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_event_there_is_is_a_cloud_event(path):
    placed, record = sample(path)
    text = cloud_event(path.parent.name, placed, record)
    fields = msgspec.json.decode(text)
    for required in ("specversion", "id", "source", "type"):
        assert isinstance(fields[required], str) and fields[required], required
    assert fields["specversion"] == "1.0"
    assert fields["datacontenttype"] == "application/json"
    assert datetime.fromisoformat(fields["time"]).utcoffset() == timedelta(0)
    for name, value in fields.items():
        assert ATTRIBUTE.fullmatch(name), name
        if name != "data":
            assert isinstance(value, str | bool), "a number that may pass 2^31 is no CloudEvents integer"
    read = JSONFormat().read(CloudEvent, text)
    assert (read.get_id(), read.get_source(), read.get_type()) == (fields["id"], fields["source"], fields["type"])
    assert read.get_data() == record.own


@pytest.mark.req("EV-06")
def test_the_envelope_becomes_attributes_and_the_rest_is_data():
    event = registered(42, device="d7", by="user:1", cause="a command")
    event.trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    placed, record = committed(CODEC.encode([event]), seq=512)
    fields = msgspec.json.decode(cloud_event("fleet", placed, record))
    assert fields.pop("data") == record.own
    assert fields == {
        "specversion": "1.0",
        "id": "512:0",
        "source": "/drover/fleet/main",
        "type": "drover.fleet.DeviceRegistered",
        "time": "2026-01-31T08:00:42Z",
        "datacontenttype": "application/json",
        "sequence": "00000000000000000042",
        "actor": "user:1",
        "cause": "a command",
        "commit": "x",
        "traceparent": event.trace,
    }
    assert record.own["device_id"] == "d7"
