"""The composition of the gateway: dependencies in, routes onto an application. Feeding the roster is not here."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from drover.gateway.heartbeat import Heartbeats, Telemetry
from drover.gateway.registration import Bus, NewDevice, NewPc, Registration
from drover.gateway.relations import RELATIONS
from drover.gateway.roster import Roster
from drover.service.config import Settings
from drover.web.application import ANY, add_route, nothing_here
from drover.web.auth import Authenticator
from drover.web.errors import ApiError
from drover.web.freshness import Freshness, Waiter
from drover.web.permissions import Verb, demand
from drover.web.postgrest.read import Pool, read, unknown_relation


@dataclass(frozen=True)
class Gateway:
    """The agents' edge. One for each process."""

    settings: Settings
    auth: Authenticator
    bus: Bus
    telemetry: Telemetry
    roster: Roster
    pool: Pool
    positions: Waiter
    """How far the read models are."""
    roster_at: Waiter
    """How far the roster is."""

    def add_routes(self, app: web.Application) -> None:
        freshness = Freshness(self.positions)
        heartbeats = Heartbeats(self.auth, self.roster, self.telemetry)
        devices = Registration("devices", NewDevice, NewDevice.command, self.auth, self.bus, freshness, self.roster_at)
        pcs = Registration("pcs", NewPc, NewPc.command, self.auth, self.bus, freshness, self.roster_at)

        async def get(request: web.Request) -> web.Response:
            name = request.path.rpartition("/")[2]
            principal = self.auth.authenticate(request.headers)
            demand(principal, name, Verb.READ)
            relation = RELATIONS[name]
            await freshness.wait(request.headers, principal.name, relation.context)
            return await read(request, relation, self.pool)

        async def unknown(request: web.Request) -> web.StreamResponse:
            self.auth.authenticate(request.headers)
            name = request.match_info["relation"]
            if name in RELATIONS:  # known, but not with this method, which is why no other route took it
                return await nothing_here(request)
            raise unknown_relation(name)

        async def unknown_function(request: web.Request) -> web.Response:
            self.auth.authenticate(request.headers)
            name = request.match_info["function"][:64]
            raise ApiError(404, "PGRST202", f"Could not find the function public.{name} in the schema cache")

        add_route(app, "PATCH", "/rest/v1/devices", heartbeats.patch)
        add_route(app, "POST", "/rest/v1/devices", devices.post)
        add_route(app, "POST", "/rest/v1/pcs", pcs.post)
        for name in RELATIONS:
            add_route(app, "GET", f"/rest/v1/{name}", get)
        add_route(app, "POST", "/rest/v1/rpc/{function}", unknown_function)
        add_route(app, ANY, "/rest/v1/{relation}", unknown)
