"""A row of a read model: a frozen struct whose fields are its columns."""

from __future__ import annotations

import msgspec


class Row(msgspec.Struct, frozen=True, gc=False):
    """Frozen: rows are shared with a cache. No garbage collection: no row refers to another."""
