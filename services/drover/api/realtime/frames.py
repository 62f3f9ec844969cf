"""Frames of the Phoenix protocol: JSON objects in 1.0.0, JSON arrays and binary broadcasts in 2.0.0. Pure.

The shapes are those of @supabase/realtime-js 2.109 (`lib/serializer.ts`) and of the Python package `realtime` 2.34.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from drover.domain.errors import DroverError

_PUSH: Final = 3
"""Kind of a binary frame: a broadcast from a client."""
_BROADCAST: Final = 4
"""Kind of a binary frame: a broadcast to a client."""
_PUSH_HEADER: Final = 7
_IS_BYTES, _IS_JSON = 0, 1

BROADCAST: Final = "broadcast"
EMPTY: Final = msgspec.Raw(b"{}")

_encode: Final = msgspec.json.Encoder().encode


class Vsn(StrEnum):
    ONE = "1.0.0"
    TWO = "2.0.0"


Ref = str | int | None


class BadFrame(DroverError):
    """A frame from a client cannot be read. `why` is the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The frame cannot be read: {why}")
        self.why = why


class Frame(msgspec.Struct, frozen=True, gc=False):
    """A message from a client."""

    topic: str
    event: str
    payload: msgspec.Raw = EMPTY
    ref: Ref = None
    join_ref: Ref = None
    data: bytes | None = None
    """The payload of a broadcast of plain bytes; None in all other frames."""


class Binary(bytes):
    """A frame that is sent as binary. All others are text."""


_decode_object: Final = msgspec.json.Decoder(Frame).decode
_decode_array: Final = msgspec.json.Decoder(tuple[Ref, Ref, str, str, msgspec.Raw]).decode


def decode(data: str | bytes, vsn: Vsn) -> Frame:
    """Decode a frame from a client. Raises `BadFrame`."""
    try:
        if isinstance(data, bytes):
            return _decode_push(data)
        if vsn is Vsn.ONE:
            return _decode_object(data)
        join_ref, ref, topic, event, payload = _decode_array(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, IndexError) as error:
        raise BadFrame(str(error)) from error
    return Frame(topic, event, payload, ref, join_ref)


def encode(
    vsn: Vsn, topic: str, event: str, payload: bytes | msgspec.Raw, *, ref: Ref = None, join_ref: Ref = None
) -> bytes:
    """Encode a frame for a client. `payload`: JSON."""
    raw = payload if isinstance(payload, msgspec.Raw) else msgspec.Raw(payload)
    if vsn is Vsn.ONE:
        return _encode({"topic": topic, "event": event, "payload": raw, "ref": ref})
    return _encode((join_ref, ref, topic, event, raw))


def encode_bytes(topic: str, event: str, data: bytes) -> Binary:
    """Encode a broadcast of plain bytes. Only version 2.0.0 has these."""
    name, what = topic.encode(), event.encode()
    return Binary(bytes((_BROADCAST, len(name), len(what), 0, _IS_BYTES)) + name + what + data)


def broadcast_payload(event: str, payload: msgspec.Raw) -> bytes:
    return _encode({"type": BROADCAST, "event": event, "payload": payload})


def _decode_push(data: bytes) -> Frame:
    if len(data) < _PUSH_HEADER or data[0] != _PUSH:
        raise BadFrame("a binary frame must be a broadcast")
    *sizes, encoding = data[1:_PUSH_HEADER]
    parts, at = [], _PUSH_HEADER
    for size in sizes:
        parts.append(_text(data[at : at + size]))
        at += size
    if at > len(data) or encoding not in (_IS_BYTES, _IS_JSON):
        raise BadFrame("a binary frame is shorter than it says, or of an unknown encoding")
    join_ref, ref, topic, event, _ = parts
    refs: dict[str, Any] = {"ref": ref or None, "join_ref": join_ref or None}
    rest = data[at:]
    if encoding == _IS_BYTES:
        return Frame(topic, BROADCAST, msgspec.Raw(_encode({"event": event})), data=rest, **refs)
    msgspec.json.decode(rest)  # it is passed on unchanged, so check that it is JSON
    return Frame(topic, BROADCAST, msgspec.Raw(broadcast_payload(event, msgspec.Raw(rest))), **refs)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:  # realtime-js writes one byte for each character
        return data.decode("latin-1")
