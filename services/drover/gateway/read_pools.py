"""Chooses the database connections for a read: the whole pool or, for the anon key, a small part of it."""

from __future__ import annotations

from typing import Final

from drover.postgres.share import PoolShare
from drover.service.api_keys import Role
from drover.web.auth import Principal
from drover.web.postgrest.read import Pool

ANON_SHARE: Final = 8
"""The anon key may use one in this many connections of the pool, but at least one. This key is in every phone, and its
reads must not slow down those of others."""
ANON_STATEMENT_S: Final = 1.0


class ReadPools:
    def __init__(self, pool: Pool, connections_max: int) -> None:
        self._pool = pool
        connections = max(1, connections_max // ANON_SHARE)
        self._anon = PoolShare(pool, connections=connections, statement_s=ANON_STATEMENT_S)

    def of(self, principal: Principal) -> Pool:
        return self._anon if principal.role is Role.ANON else self._pool
