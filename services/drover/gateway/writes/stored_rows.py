"""Reads rows of a read model by id, for the answers to writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from drover.gateway.rows import Row
from drover.readmodel.relation import Relation
from drover.web.errors import ApiError
from drover.web.postgrest.ast import Filter, Query
from drover.web.postgrest.read import Pool, fetch
from drover.web.postgrest.sealed import leave_sealed

_decode: Final = msgspec.json.Decoder(list[Row]).decode


class StoredRows:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, relation: Relation, ids: Sequence[str], *, key: str = "id") -> dict[str, Row]:
        """Read the rows with these ids; their sealed columns stay sealed. Rows that do not exist are left out; if
        PostgreSQL is down, all rows are. The answer then shows only the values that the command recorded."""
        query = Query(where=(Filter(key, "in", tuple(ids)),))
        try:
            page = await fetch(relation, query, self._pool, unseal=leave_sealed)
        except ApiError:
            return {}
        return {str(row[key]): row for row in _decode(page.body)}
