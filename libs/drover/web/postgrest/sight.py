"""What a caller may see besides the relation that it requests."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from drover.readmodel.relation import Relation
from drover.web.postgrest.select import EMBED_DEPTH_MAX


class Sight(msgspec.Struct, frozen=True):
    """Which relations a caller may embed, and of which relations it may see only some rows."""

    relations: Mapping[str, Relation] = {}
    """The relations that the caller may embed."""
    only: Mapping[str, Mapping[str, str]] = {}
    """By relation, the values that columns of a row must have for the caller to see it, in addition to the query's own
    filters."""
    depth_max: int = EMBED_DEPTH_MAX
    """How deep the caller may nest embeds."""
    bytes_max: int | None = None
    """The maximum size of an answer to the caller in bytes. None: the same as for everybody."""
