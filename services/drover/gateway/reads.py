"""`GET /rest/v1/…`: reads of the read models in PostgreSQL. An agent's poll is answered first, without PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from drover.gateway.polling import Polling
from drover.gateway.rest_routes import reads
from drover.readmodel.models import RELATIONS
from drover.web.auth import Authenticator, Principal
from drover.web.freshness import Freshness
from drover.web.permissions import Permissions, Verb
from drover.web.postgrest.read import Pool, read
from drover.web.postgrest.sealed import Unseal
from drover.web.route import handles


class Reads:
    """Answers the reads of all relations, after a check of the caller's permission."""

    def __init__(
        self,
        auth: Authenticator,
        permissions: Permissions,
        polling: Polling,
        pool: Pool,
        freshness: Freshness,
        unseal: Callable[[Principal], Unseal],
    ) -> None:
        self._auth = auth
        self._permissions = permissions
        self._polling = polling
        self._pool = pool
        self._freshness = freshness
        self._unseal = unseal

    @handles(*map(reads, RELATIONS))
    async def get(self, request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        principal = self._auth.authenticate(request.headers)
        self._permissions.demand(principal, name, Verb.READ)
        if name == "job_assignments":
            answer = await self._polling.answer(request, principal)
            if answer is not None:
                return answer
        relation = RELATIONS[name]
        awaited = await self._freshness.wait(request.headers, *relation.contexts)
        sight = self._permissions.sight(principal, RELATIONS)
        answer = await read(request, relation, self._pool, sight=sight, unseal=self._unseal(principal))
        answer.headers.update(awaited.headers)
        return answer
