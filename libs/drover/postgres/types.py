"""Makes values for Postgres faster than the standard library does."""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from uuid import UUID

from asyncpg.pgproto import pgproto

UUIDS_KEPT_MAX: Final = 50_000


@lru_cache(UUIDS_KEPT_MAX)
def uuid_of(text: str) -> UUID:
    """Make a UUID of asyncpg's subclass of `uuid.UUID`, which is written in C. Parsing, hashing and comparing it is ten
    times faster, which projections need."""
    uuid: UUID = pgproto.UUID(text)
    return uuid
