"""`DELETE` of rows: one command each. A missing row counts as deleted, as in PostgREST."""

from __future__ import annotations

from aiohttp import web

from drover.bus.messages import Accepted, Rejected
from drover.domain.errors import Code
from drover.gateway.rows import Row
from drover.gateway.writes.declaration import Delete, WriteTable
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.outcome import settle
from drover.gateway.writes.representation import answer_update, check_media, parse_view
from drover.gateway.writes.selection import Selection, id_of, parse_filters, select_rows
from drover.gateway.writes.sending import Sending
from drover.web.auth import Principal
from drover.web.commands import request_origin
from drover.web.permissions import Verb
from drover.web.postgrest.respond import check_profile


class Deletes:
    """The DELETE of one relation."""

    def __init__(self, table: WriteTable, delete: Delete, edge: Edge) -> None:
        self._table = table
        self._delete = delete
        self._edge = edge

    async def delete(self, request: web.Request, principal: Principal) -> web.Response:
        table, edge, relation = self._table, self._edge, self._table.columns
        headers, query_string = request.headers, request.rel_url.raw_query_string
        check_profile(headers, "Content-Profile")
        query = parse_filters(request, "DELETE")
        selection = await select_rows(table, query, edge, request, principal)
        ids = [target.id for target in selection.targets]
        preferences, select = parse_view(relation, headers, query_string, len(ids))
        before: dict[str, Row] = {}
        behind = selection.headers
        if preferences.representation and ids:  # read the rows before they are deleted
            behind = (await edge.freshness.wait(headers, *relation.contexts)).headers or behind
            before = await edge.stored.get(relation, ids, key=table.key)
        sending = Sending(
            edge,
            table.client,
            principal=principal,
            grant=edge.permissions.demand(principal, relation.name, Verb.DELETE),
            origin=request_origin(request, principal, route=f"DELETE {relation.name}"),
        )
        outcomes = await sending.send([self._delete.command(target) for target in selection.targets], ids)
        there = [pair for pair in zip(selection.targets, outcomes, strict=True) if not _is_absent(pair[1])]
        found = Selection(tuple(target for target, _ in there), selection.by_key)
        done = settle(found, [outcome for _, outcome in there], sending)
        rows = None
        if preferences.representation:
            rows = [before.get(id_, {table.key: id_of(relation, table.key, id_)}) for id_ in done.rows]
            check_media(len(rows), preferences, headers)  # 406 if one row was requested, but none deleted
        extra = {**sending.headers, **done.headers, **behind}
        return answer_update(rows, preferences, headers, select=select, extra=extra)


def _is_absent(outcome: Accepted | Rejected) -> bool:
    return isinstance(outcome, Rejected) and outcome.code == Code.NOT_FOUND
