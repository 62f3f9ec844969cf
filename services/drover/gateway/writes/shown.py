"""Makes the rows that an update returns, from this gateway's live state or from the read model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from drover.bus.messages import Accepted
from drover.gateway.rows import Row
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.selection import id_of
from drover.gateway.writes.sending import Sending
from drover.readmodel.models import RELATIONS
from drover.readmodel.relation import Relation
from drover.web.errors import ApiError

Show = Callable[[Edge, Mapping[str, Accepted | None], Sending], Awaitable[list[Row]]]


def live(row: Callable[[Edge, str, Accepted | None], Row]) -> Show:
    """Return a function that makes each row from live state and the answer to its command."""

    async def show(edge: Edge, done: Mapping[str, Accepted | None], sending: Sending) -> list[Row]:
        return [row(edge, id_, result) for id_, result in done.items()]

    return show


def stored(relation_name: str, *, key: str = "id") -> Show:
    """Return a function that reads each row from the read model, after waiting for all earlier writes. The values that
    its command recorded replace those of the read model, which may still be late."""
    relation = RELATIONS[relation_name]
    blank: Row = dict.fromkeys(relation.columns)

    async def show(edge: Edge, done: Mapping[str, Accepted | None], sending: Sending) -> list[Row]:
        try:
            await edge.freshness.wait({}, *relation.contexts)  # wait for the writes of earlier requests, too
            rows = await edge.stored.get(relation, list(done), key=key)
        except ApiError:  # the read model is being built; the write is recorded all the same
            rows = {}
        return [
            blank | rows.get(id_, {key: id_of(relation, key, id_)}) | recorded(relation, result)
            for id_, result in done.items()
        ]

    return show


def recorded(relation: Relation, done: Accepted | None) -> Row:
    """Return the values that the command recorded, for columns of the relation."""
    told: Any = None if done is None else done.result
    if not isinstance(told, dict):
        return {}
    return {name: value for name, value in told.items() if name in relation.columns}
