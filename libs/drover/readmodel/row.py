"""A row of a read model: a frozen struct whose fields are its columns."""

from __future__ import annotations

import msgspec


class Row(msgspec.Struct, frozen=True, gc=False):
    """A row. It is frozen, because rows are shared with a cache, and not garbage-collected, because no row refers to
    another."""
