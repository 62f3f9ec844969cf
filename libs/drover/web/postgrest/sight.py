"""What one caller may see beside the relation that it asks for."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from drover.readmodel.relation import Relation


class Sight(msgspec.Struct, frozen=True):
    """What a caller may see beside the relation that it asked for, and of which relation only some rows."""

    relations: Mapping[str, Relation] = {}
    """Those that it may embed."""
    only: Mapping[str, Mapping[str, str]] = {}
    """By relation: columns and the value that they must have, whatever else is asked for."""
