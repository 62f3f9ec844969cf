"""Rows of a read model by id, for what a write shows of a context that has no roster here. Nothing depends on them."""

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
"""How long an answer is held back until the read model has what was just written."""

_decode: Final = msgspec.json.Decoder(list[Row]).decode


class StoredRows:
    def __init__(self, pool: Pool, positions: Waiter) -> None:
        self._pool = pool
        self._positions = positions

    async def get(
        self, relation: Relation, ids: Sequence[str], *, position: int = 0, unseal: Unseal = keep_sealed
    ) -> dict[str, Row]:
        """As far as they can be had: while the database is away, or late, a write is shown by what its command says."""
        if position:
            await self._positions.wait(relation.context, position, WAIT_S)
        query = Query(where=(Filter("id", "in", tuple(ids)),))
        try:
            page = await fetch(relation, query, self._pool, unseal=unseal)
        except ApiError:
            return {}
        return {str(row["id"]): row for row in _decode(page.body)}
