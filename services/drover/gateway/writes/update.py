"""`PATCH` of rows: sends commands for the rows that the filters select, then answers."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from drover.domain.errors import Code
from drover.gateway.writes.body import Given, RowBody
from drover.gateway.writes.declaration import Update, WriteTable
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.outcome import settle
from drover.gateway.writes.representation import answer_update, check_media, parse_view
from drover.gateway.writes.selection import parse_filters, select_rows
from drover.gateway.writes.sending import Sending
from drover.web.auth import Principal
from drover.web.bodies import read_body
from drover.web.commands import request_origin
from drover.web.errors import ApiError
from drover.web.permissions import Verb, check_columns
from drover.web.postgrest.respond import check_profile
from drover.web.postgrest.sealed import open_rows


class Updates:
    """The PATCH of one relation."""

    def __init__(self, table: WriteTable, update: Update[Any], edge: Edge) -> None:
        self._table = table
        self._update = update
        self._edge = edge
        self._body: RowBody[msgspec.Struct] = RowBody(update.shape, table.columns)

    async def patch(self, request: web.Request, principal: Principal, *, raw: bytes | None = None) -> web.Response:
        """Handle a PATCH. `raw`: the body, if it was read before."""
        table, edge, relation = self._table, self._edge, self._table.columns
        headers, query_string = request.headers, request.rel_url.raw_query_string
        check_profile(headers, "Content-Profile")
        query = parse_filters(request, "PATCH")
        grant = edge.permissions.demand(principal, relation.name, Verb.UPDATE)
        raw = await read_body(request) if raw is None else raw
        given = self._decode(raw)
        check_columns(grant, given.names)
        selection = await select_rows(table, query, edge, request, principal)
        if selection.by_key and not selection.targets:
            raise ApiError(404, Code.NOT_FOUND, "The filter names no ids")
        preferences, select = parse_view(relation, headers, query_string, len(selection.targets))
        sending = Sending(
            edge,
            table.client,
            principal=principal,
            grant=grant,
            origin=request_origin(request, principal, route=f"PATCH {relation.name}", raw=raw),
            names=given.names,
            ignored=given.ignored,
        )
        (change,) = given.rows
        done = settle(selection, await self._update.apply(change, selection.targets, sending), sending)
        if self._update.settles or preferences.representation:
            await sending.settle_locally()
        rows = None
        if preferences.representation:
            shown = await self._update.show(edge, done.rows, sending)
            rows = await open_rows(relation, shown, edge.personal_data.unseal(principal))
            if not selection.by_key:
                check_media(len(rows), preferences, headers)  # 406 if one row was requested, but none changed
        extra = {**sending.headers, **done.headers, **selection.headers}
        return answer_update(rows, preferences, headers, select=select, extra=extra)

    def _decode(self, raw: bytes) -> Given[Any]:
        try:
            return self._body.decode(raw)
        except ApiError as error:
            error.hint = error.hint or self._update.hint
            raise
