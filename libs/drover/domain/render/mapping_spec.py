"""The fields that a client may set on a composition and on the layer of a field, with their defaults.

`validation` has the bounds. Commands, bodies and rows inherit the fields; the events list them (ADR 0026).
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

OUTPUT_MODULE_DEFAULT: Final = "H.264 - Match Render Settings - 15 Mbps"

Kind = Literal["data", "image", "expression"]
"""The kind of a layer: a text, a picture of the image folder, or an After Effects expression, such as the Clock of
document 003, §3.4.1."""


class CompositionSpec(msgspec.Struct, frozen=True):
    name: str = ""
    template: str = ""
    output_module: str = OUTPUT_MODULE_DEFAULT


class CompositionChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields of a composition that a PATCH may change. None: no change."""

    name: str | None = None
    template: str | None = None
    output_module: str | None = None


class Layer(msgspec.Struct, frozen=True):
    """The After Effects layer of a field."""

    layer_name: str
    kind: Kind = "data"
    property: str = "Source Text"


class FieldChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields of a mapping that a PATCH may change. None: no change."""

    layer_name: str | None = None
    kind: Kind | None = None
    property: str | None = None
