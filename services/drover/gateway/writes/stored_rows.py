"""Reads rows of a read model by id, for the answers to writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from drover.gateway.rows import Row
from drover.readmodel.relation import Relation
from drover.web.errors import ApiError
from drover.web.postgrest.ast import Filter, Query
from drover.web.postgrest.read import Pool, fetch, keep_sealed
from drover.web.postgrest.sealed import Unseal

_decode: Final = msgspec.json.Decoder(list[Row]).decode


class StoredRows:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(
        self, relation: Relation, ids: Sequence[str], *, key: str = "id", unseal: Unseal = keep_sealed
    ) -> dict[str, Row]:
        """Read the rows with these ids. Missing rows are left out, and all rows if PostgreSQL is down. The answer then
        shows only the values that the command recorded."""
        query = Query(where=(Filter(key, "in", tuple(ids)),))
        try:
            page = await fetch(relation, query, self._pool, unseal=unseal)
        except ApiError:
            return {}
        return {str(row[key]): row for row in _decode(page.body)}
