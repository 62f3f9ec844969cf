"""`DELETE` of rows by their id: each becomes one command. A missing row counts as deleted, as in PostgREST."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from drover.bus.messages import Accepted, Rejected
from drover.domain.decider import Command
from drover.domain.errors import Code
from drover.gateway.patching import id_of, named_ids, settle
from drover.gateway.representation import answer_update, check_media, parse_view
from drover.gateway.rows import Row
from drover.gateway.stored_rows import StoredRows
from drover.readmodel.models import RELATIONS
from drover.web.auth import Principal
from drover.web.commands import CommandClient, request_origin
from drover.web.postgrest.respond import check_profile


class Deletion:
    """The handler of one relation."""

    def __init__(
        self,
        relation: str,
        to_command: Callable[[str], Command],
        *,
        client: CommandClient,
        stored: StoredRows,
    ) -> None:
        self._relation = RELATIONS[relation]
        self._to_command = to_command
        self._client = client
        self._stored = stored

    async def delete(self, request: web.Request, principal: Principal) -> web.Response:
        headers, query = request.headers, request.rel_url.raw_query_string
        relation = self._relation
        check_profile(headers, "Content-Profile")
        ids = named_ids(query, relation, "DELETE")
        preferences, select = parse_view(relation, headers, query, len(ids))
        before: dict[str, Row] = {}
        if preferences.representation and ids:  # read the rows before they are deleted
            await self._client.readable(headers)
            before = await self._stored.get(relation, ids)
        outcomes = await self._client.outcomes(
            [self._to_command(id_) for id_ in ids],
            request_origin(request, principal, route=f"DELETE {relation.name}"),
            targets=ids,
        )
        there = {id_: outcome for id_, outcome in zip(ids, outcomes, strict=True) if not _is_absent(outcome)}
        done = settle(self._client, list(there), list(there.values()))
        rows = None
        if preferences.representation:
            rows = [before.get(id_, {"id": id_of(relation, id_)}) for id_ in done.rows]
            check_media(len(rows), preferences, headers)  # no row, but one was requested: nothing was deleted
        extra = self._client.position_headers(done.position)
        return answer_update(rows, preferences, headers, select=select, extra=extra)


def _is_absent(outcome: Accepted | Rejected) -> bool:
    return isinstance(outcome, Rejected) and outcome.code == Code.NOT_FOUND
