"""`GET /rest/v1/…`: reads of the read models in PostgreSQL. An agent's poll is answered first, without PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from aiohttp import web

from drover.domain.identity.audit import AccessKind
from drover.gateway.polling import Polling
from drover.gateway.read_pools import ReadPools
from drover.gateway.rest_routes import POLLED, reads
from drover.readmodel.models import RELATIONS
from drover.readmodel.relation import Relation
from drover.web.audit import Audit
from drover.web.auth import Principal
from drover.web.errors import ApiError
from drover.web.freshness import Freshness
from drover.web.limits import Limits
from drover.web.permissions import Permissions, Verb
from drover.web.postgrest.ast import Embed, Query
from drover.web.postgrest.grammar import parse_query, split_parameters
from drover.web.postgrest.read import read
from drover.web.postgrest.sealed import Open, Unseal
from drover.web.route import handles

SENSITIVE: Final = {
    "alarm": AccessKind.REMINDER_TEXT,
    "accounts": AccessKind.PEOPLE,
    "sessions": AccessKind.PEOPLE,
}
"""Relations that are sensitive as a whole: the audit records each read of them. `render_queue` is not here, because
only its column gfx_data is sensitive."""


class Reads:
    """Answers the reads of all relations, after a check of the caller's permission."""

    def __init__(
        self,
        permissions: Permissions,
        polling: Polling,
        requests: Limits,
        pools: ReadPools,
        freshness: Freshness,
        unseal: Callable[[Principal], Unseal],
        audit: Audit | None = None,
    ) -> None:
        """`audit`: records reads of the relations in `SENSITIVE` and of gfx_data. None, which only tests use: nothing
        is recorded."""
        self._permissions = permissions
        self._polling = polling
        self._requests = requests
        self._pools = pools
        self._freshness = freshness
        self._unseal = unseal
        self._audit = audit

    @handles(*map(reads, RELATIONS))
    async def get(self, request: web.Request, principal: Principal) -> web.Response:
        name = request.path.rpartition("/")[2]
        if name == POLLED:
            self._demand_polled(principal, request)
            answer = await self._polling.answer(request, principal)
            if answer is not None:
                return answer
            self._requests.count(principal, request)
        else:
            self._permissions.demand(principal, name, Verb.READ)
        relation = RELATIONS[name]
        awaited = await self._freshness.wait(request.headers, *relation.contexts)
        sight = self._permissions.sight(principal, RELATIONS)
        opener = Opener(self._unseal(principal))
        for sensitive, kind in SENSITIVE.items():
            if sensitive in sight.relations and shows(relation, request, sensitive):
                await self._record(request, principal, kind)
        answer = await read(request, relation, self._pools.of(principal), sight=sight, unseal=opener)
        if opener.has_opened_gfx_data:  # before the caller sees it; not if no row had gfx_data
            await self._record(request, principal, AccessKind.GFX_DATA)
        answer.headers.update(awaited.headers)
        return answer

    def _demand_polled(self, principal: Principal, request: web.Request) -> None:
        """Check the permission to read assignments. A refused request is not counted as a poll of its device, but by
        the general limit."""
        try:
            self._permissions.demand(principal, POLLED, Verb.READ)
        except ApiError:
            self._requests.count(principal, request)
            raise

    async def _record(self, request: web.Request, principal: Principal, kind: AccessKind) -> None:
        if self._audit is not None:
            await self._audit.read(request, principal, kind)


class Opener:
    """Opens sealed columns, and remembers whether gfx_data was among them."""

    def __init__(self, unseal: Unseal) -> None:
        self._unseal = unseal
        self.has_opened_gfx_data = False

    async def __call__(self, texts: Sequence[str]) -> Open:
        open_ = await self._unseal(texts)

        def noting(relation: str, column: str, text: str) -> bytes:
            opened = open_(relation, column, text)
            self.has_opened_gfx_data |= relation not in SENSITIVE
            return opened

        return noting


def shows(relation: Relation, request: web.Request, name: str) -> bool:
    """Whether a read shows rows of the relation with this name, directly or embedded in other rows."""
    if relation.name == name:
        return True
    return _embeds(relation, parse_query(split_parameters(request.rel_url.raw_query_string)), name)


def _embeds(relation: Relation, query: Query, name: str) -> bool:
    for item in query.select:
        if isinstance(item, Embed) and (to := relation.relationships.get(item.relation)) is not None:
            target = RELATIONS.get(to.target)
            if to.target == name or (target is not None and _embeds(target, item.query, name)):
                return True
    return False
