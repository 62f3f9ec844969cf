"""Filters events by the conditions of a client. `drover events tail` has the same rules."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from drover.api.live.record import Record
from drover.domain.event import Event

_ENVELOPE: Final = frozenset({"type", *Event.__struct_fields__})

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Selection:
    """The conditions of one client. An event must meet all that are given."""

    def __init__(self, types: Sequence[str] = (), entity: str | None = None) -> None:
        """`types`: types of which the event must have one; `*` matches any letters. `entity`: an id that must be in
        some field of the event."""
        self._types = tuple(types)
        self._entity = entity
        self._quoted = None if entity is None else msgspec.json.encode(entity)
        self._of_type: dict[str, bool] = {}

    def __call__(self, record: Record) -> bool:
        return self._wants(record.type) and (self._quoted is None or self._names_entity(record.raw, self._quoted))

    def _wants(self, type_: str) -> bool:
        if not self._types:
            return True
        wanted = self._of_type.get(type_)
        if wanted is None:
            wanted = self._of_type[type_] = any(fnmatchcase(type_, pattern) for pattern in self._types)
        return wanted

    def _names_entity(self, raw: bytes, quoted: bytes) -> bool:
        if quoted not in raw:  # a cheap check that rejects most: the log encodes ids the same way
            return False
        try:
            fields = _decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        return any(_mentions(value, self._entity) for name, value in fields.items() if name not in _ENVELOPE)


def _mentions(value: Any, entity: str | None) -> bool:
    if isinstance(value, dict):
        return any(_mentions(inner, entity) for inner in value.values())
    if isinstance(value, list):
        return any(_mentions(inner, entity) for inner in value)
    return isinstance(value, str) and value == entity
