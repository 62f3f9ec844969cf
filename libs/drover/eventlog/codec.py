"""The encoding of a commit: newline-delimited JSON, one event a line. Upcasters convert event types that are no longer
in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from drover.domain.decider import Decider
from drover.domain.errors import DroverError
from drover.domain.event import Event

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""Turns the fields of an event type that is no longer in use into those of its successor, and sets `type` to the
successor's name."""

UPCASTS_MAX = 32
"""How many upcasters may follow each other for one event: a longer chain must be a loop and is an error."""


class UnreadableCommit(DroverError):
    """A commit holds something that this program cannot read. Readers stop here; they never skip a commit."""

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        self.reason = reason
        super().__init__(f"line {line}: {reason}")


class UnknownEvent(UnreadableCommit):
    """A commit has an event type that this program does not know. When you upgrade, deploy the programs that read
    before those that write."""

    def __init__(self, line: int, type_: str) -> None:
        self.type = type_
        super().__init__(line, f"unknown event type {type_!r}: deploy this reader before the writer that emits it")


class Codec:
    """Encodes and decodes the events of one context."""

    def __init__(self, events: Any, upcasters: Mapping[str, Upcaster] | None = None) -> None:
        self._types = events
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(events)
        self._encoder = msgspec.json.Encoder()
        self._upcasters = dict(upcasters or {})
        self._known = {cast(str, t.__struct_config__.tag) for t in _members(events)}

    @classmethod
    def of(cls, decider: Decider[Any]) -> Codec:
        """Make the codec of a context, including its upcasters. All code that reads the context's log uses it."""
        return cls(decider.events, decider.upcasters)

    def encode(self, events: Sequence[Event]) -> bytes:
        return self._encoder.encode_lines(events)

    def decode(self, payload: bytes) -> list[Any]:
        try:
            return self._decoder.decode_lines(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return [self._decode_line(number, line) for number, line in enumerate(lines(payload))]

    def _decode_line(self, number: int, line: bytes) -> Any:
        """Decode one line slowly. This is for commits with an event type that is no longer in use, and for finding the
        line that cannot be decoded."""
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UnreadableCommit(number, f"not a JSON object: {error}") from None
        for _ in range(UPCASTS_MAX):
            type_ = str(fields.get("type"))
            if (upcast := self._upcasters.get(type_)) is None:
                break
            fields = upcast(fields)
        if type_ not in self._known:
            raise UnknownEvent(number, type_)
        try:
            return msgspec.convert(fields, self._types)
        except msgspec.ValidationError as error:
            raise UnreadableCommit(number, f"{type_}: {error}") from None


def lines(payload: bytes) -> list[bytes]:
    """Split a commit into its raw lines, one for each event, in the order in which `decode` returns them."""
    return payload.splitlines()


def _members(union: Any) -> tuple[Any, ...]:
    return getattr(union, "__args__", (union,))
