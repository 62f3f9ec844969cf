"""The description of a relation that clients may read: its columns and their types. Its table is made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class PgType(StrEnum):
    """Types of columns, by the name that a cast uses."""

    TEXT = "text"
    UUID = "uuid"
    INTEGER = "int4"
    BIGINT = "int8"
    NUMERIC = "numeric"
    FLOAT = "float8"
    BOOLEAN = "bool"
    TIMESTAMPTZ = "timestamptz"
    JSONB = "jsonb"
    TEXT_ARRAY = "text[]"


class Relation(msgspec.Struct, frozen=True):
    name: str
    """As clients call it."""
    schema: str
    """Where it lives: `rm_<context>`."""
    columns: Mapping[str, PgType]
    """In the order in which `*` gives them."""
    context: str
    """Whose positions say how fresh it is."""
    order: tuple[str, ...] = ()
    """Columns that settle the order where the client's leaves rows equal, so that pages do not overlap."""
