"""The wire form of commits."""

import msgspec
import pytest

from drover.domain.event import Event
from drover.eventlog.codec import Codec, UnknownEvent, UnreadableCommit, lines


class Painted(Event):
    colour: str


class Sold(Event):
    price: int


def test_a_commit_is_one_json_object_a_line_and_comes_back_as_it_was():
    codec = Codec(Painted | Sold)
    events = [Painted("red", n=1), Sold(3, n=2, trace="00-a-b-01")]
    payload = codec.encode(events)
    assert codec.decode(payload) == events
    assert [msgspec.json.decode(line)["type"] for line in lines(payload)] == ["Painted", "Sold"]


def test_a_line_separator_of_unicode_inside_a_text_splits_no_line():
    codec = Codec(Painted | Sold)
    payload = codec.encode([Painted("red\u2028\x0b\x1c\u0085green", n=1)])
    assert len(lines(payload)) == 1 == len(codec.decode(payload))


def test_a_field_that_a_newer_writer_added_is_ignored():
    assert Codec(Painted).decode(b'{"type":"Painted","colour":"red","gloss":3}\n')[0].colour == "red"


def test_an_unknown_type_stops_the_reader_and_is_named():
    with pytest.raises(UnknownEvent) as caught:
        Codec(Painted | Sold).decode(b'{"type":"Painted","colour":"red"}\n{"type":"Burnt"}\n')
    assert (caught.value.type, caught.value.line) == ("Burnt", 1)


@pytest.mark.parametrize(
    "payload", [b"nonsense\n", b'{"type":"Painted"}\n', b'"text"\n', b'{"type":"Sold","price":"x"}\n']
)
def test_a_damaged_line_stops_the_reader(payload):
    with pytest.raises(UnreadableCommit):
        Codec(Painted | Sold).decode(payload)


@pytest.mark.req("EV-09")
def test_a_retired_type_is_read_through_its_upcasters_one_after_the_other():
    def v1_to_v2(fields):
        return fields | {"type": "PaintedV2", "color": fields.pop("c")}

    def v2_to_now(fields):
        return fields | {"type": "Painted", "colour": fields.pop("color")}

    codec = Codec(Painted | Sold, {"PaintedV1": v1_to_v2, "PaintedV2": v2_to_now})
    read = codec.decode(b'{"type":"PaintedV1","c":"red","n":7}\n{"type":"Sold","price":1,"n":8}\n')
    assert read == [Painted("red", n=7), Sold(1, n=8)]
