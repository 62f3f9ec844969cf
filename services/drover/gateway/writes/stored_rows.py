"""Rows of a read model by id, for the answers to writes of a context without a roster. Best effort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from drover.gateway.rows import Row
from drover.readmodel.relation import Relation
from drover.web.errors import ApiError
from drover.web.freshness import Waiter
from drover.web.postgrest.ast import Filter, Query
from drover.web.postgrest.read import Pool, fetch, keep_sealed
from drover.web.postgrest.sealed import Unseal

WAIT_S: Final = 1.0
"""How long an answer waits until the read model has the write."""

_decode: Final = msgspec.json.Decoder(list[Row]).decode


class StoredRows:
    def __init__(self, pool: Pool, positions: Waiter) -> None:
        self._pool = pool
        self._positions = positions

    async def get(
        self,
        relation: Relation,
        ids: Sequence[str],
        *,
        key: str = "id",
        position: int = 0,
        unseal: Unseal = keep_sealed,
    ) -> dict[str, Row]:
        """Best effort: if the database is away or late, the answer shows only what the command recorded."""
        if position:
            await self._positions.wait(relation.context, position, WAIT_S)
        query = Query(where=(Filter(key, "in", tuple(ids)),))
        try:
            page = await fetch(relation, query, self._pool, unseal=unseal)
        except ApiError:
            return {}
        return {str(row[key]): row for row in _decode(page.body)}
