"""Frames of both versions, as the real clients write and read them."""

from __future__ import annotations

import msgspec
import pytest

from drover.api.realtime.frames import BadFrame, Binary, Vsn, decode, encode, encode_bytes

TOPIC = "realtime:farm"
NESTED = "[" * 100_000
"""Deeper than the decoder goes."""


def pushed(
    event: bytes, payload: bytes, *, encoding: int = 1, ref: bytes = b"5", topic: bytes = TOPIC.encode()
) -> bytes:
    """As `_encodeUserBroadcastPush` of realtime-js writes it."""
    sizes = bytes((3, 1, len(ref), len(topic), len(event), 0, encoding))
    return sizes + b"1" + ref + topic + event + payload


def test_version_1_is_an_object():
    text = '{"topic":"realtime:farm","event":"phx_join","payload":{"config":{}},"ref":"1","join_ref":"1"}'
    frame = decode(text, Vsn.ONE)
    assert (frame.topic, frame.event, frame.ref, frame.join_ref) == (TOPIC, "phx_join", "1", "1")
    assert bytes(frame.payload) == b'{"config":{}}'
    made = msgspec.json.decode(encode(Vsn.ONE, TOPIC, "phx_reply", b'{"status":"ok"}', ref="1", join_ref="1"))
    assert made == {"topic": TOPIC, "event": "phx_reply", "payload": {"status": "ok"}, "ref": "1"}


def test_version_2_is_an_array():
    frame = decode('["1","2","realtime:farm","heartbeat",{}]', Vsn.TWO)
    assert (frame.join_ref, frame.ref, frame.topic, frame.event) == ("1", "2", TOPIC, "heartbeat")
    made = msgspec.json.decode(encode(Vsn.TWO, TOPIC, "phx_reply", b"{}", ref="2", join_ref="1"))
    assert made == ["1", "2", TOPIC, "phx_reply", {}]


def test_a_broadcast_of_version_2_is_binary_with_json_in_it():
    frame = decode(pushed(b"moved", b'{"x":1}'), Vsn.TWO)
    assert (frame.topic, frame.event, frame.ref, frame.join_ref) == (TOPIC, "broadcast", "5", "1")
    assert msgspec.json.decode(frame.payload) == {"type": "broadcast", "event": "moved", "payload": {"x": 1}}
    assert frame.data is None


def test_a_broadcast_of_bytes_keeps_them_as_they_are():
    frame = decode(pushed(b"moved", b"\x00\xff", encoding=0, ref=b""), Vsn.TWO)
    assert (frame.data, frame.ref) == (b"\x00\xff", None)
    made = encode_bytes(TOPIC, "moved", b"\x00\xff")
    assert isinstance(made, Binary)
    assert made == bytes((4, len(TOPIC), 5, 0, 0)) + TOPIC.encode() + b"moved\x00\xff"


def test_a_topic_that_realtime_js_wrote_as_one_byte_a_character_is_read():
    assert decode(pushed(b"e", b"{}", topic="realtime:é".encode("latin-1")), Vsn.TWO).topic == "realtime:é"
    assert decode(pushed(b"e", b"{}", topic="realtime:é".encode()), Vsn.TWO).topic == "realtime:é"


@pytest.mark.parametrize(
    "data",
    [
        "",
        "null",
        "[]",
        '["1","2","t"]',
        '{"topic":1}',
        '{"topic":"t","event":"e","payload":' + NESTED,
        '["1","2","t","e",' + NESTED,
        b"",
        b"\x03",
        b"\x09\x00\x00\x00\x00\x00\x00",
        bytes((3, 200, 200, 200, 200, 200, 0)),
        pushed(b"e", b"no json"),
        pushed(b"e", NESTED.encode()),
        pushed(b"e", b"{}", encoding=7),
    ],
    ids=range(14),
)
@pytest.mark.parametrize("vsn", Vsn)
def test_what_is_no_frame_is_refused_and_nothing_worse(data, vsn):
    with pytest.raises(BadFrame):
        decode(data, vsn)
