"""Value objects of what a client may set. Commands, events, states and rows have their fields; here they are read by
name, so that no other module lists them."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

T = TypeVar("T", bound=msgspec.Struct)


def fields_of(spec: type[msgspec.Struct], source: Any) -> dict[str, Any]:
    """The fields of a value object in a command, an event or a row: each has all of them."""
    return {name: getattr(source, name) for name in spec.__struct_fields__}


def spec_of(spec: type[T], source: Any) -> T:
    """The value object in a command, an event or a row."""
    return spec(**fields_of(spec, source))


def changed(spec: T, change: Any) -> T:
    """The value object with what a change sets. None: no change."""
    given = fields_of(type(spec), change)
    return replace(spec, **{name: value for name, value in given.items() if value is not None})
