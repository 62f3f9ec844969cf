"""The handler of all writes of rows at `/rest/v1`: finds the relation by the path."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator

from aiohttp import web

from drover.gateway.rest_routes import changes, creates, deletes
from drover.gateway.tables.all import TABLES
from drover.gateway.writes.delete import Deletes
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.insert import Inserts
from drover.gateway.writes.update import Updates
from drover.web.auth import Principal
from drover.web.route import Route, handles


def _creates() -> Iterator[Route]:
    for table in TABLES:
        if (insert := table.insert) is not None:
            on_conflict = () if insert.merge is None else insert.merge.on_conflict
            yield creates(table.relation, insert.shape, on_conflict=on_conflict)


def _changes() -> Iterator[Route]:
    for table in TABLES:
        if table.update is not None and not table.update.by_handler:
            keys: tuple[str, ...] = (table.key, *table.other_keys)
            yield changes(table.relation, table.update.shape, keys=keys)


def _deletes() -> Iterator[Route]:
    return (deletes(table.relation, keys=(table.key,)) for table in TABLES if table.delete is not None)


class Tables:
    """Passes each request on to the `Inserts`, `Updates` or `Deletes` of its relation."""

    def __init__(self, edge: Edge) -> None:
        self._inserts: dict[str, Inserts] = {}
        self._updates: dict[str, Updates] = {}
        self._deletes: dict[str, Deletes] = {}
        for table in TABLES:
            if table.insert is not None:
                self._inserts[table.relation] = Inserts(table, table.insert, edge)
            if table.update is not None:
                self._updates[table.relation] = Updates(table, table.update, edge)
            if table.delete is not None:
                self._deletes[table.relation] = Deletes(table, table.delete, edge)

    @handles(*_creates())
    def post(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._inserts[_relation(request)].post(request, principal)

    @handles(*_changes())
    def patch(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._updates[_relation(request)].patch(request, principal)

    def update(self, relation: str, request: web.Request, principal: Principal, raw: bytes) -> Awaitable[web.Response]:
        """Handle a PATCH for another handler, which has the route and has read the body."""
        return self._updates[relation].patch(request, principal, raw=raw)

    @handles(*_deletes())
    def delete(self, request: web.Request, principal: Principal) -> Awaitable[web.Response]:
        return self._deletes[_relation(request)].delete(request, principal)


def _relation(request: web.Request) -> str:
    return request.path.rpartition("/")[2]
