"""Reads and makes value objects: groups of fields that a client may set, such as `JobSpec`.

Commands, events, states and rows have the same fields. The functions here copy them by name, so that no other module
lists them.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

T = TypeVar("T", bound=msgspec.Struct)


def fields_of(spec: type[msgspec.Struct], source: Any) -> dict[str, Any]:
    """Return the values of the value object's fields, read from a command, an event or a row that has all of them."""
    return {name: getattr(source, name) for name in spec.__struct_fields__}


def spec_of(spec: type[T], source: Any) -> T:
    """Make the value object from the fields of a command, an event or a row."""
    return spec(**fields_of(spec, source))


def changed(spec: T, change: Any) -> T:
    """Return the value object after a change. A field of the change that is None keeps its value."""
    given = fields_of(type(spec), change)
    return replace(spec, **{name: value for name, value in given.items() if value is not None})
