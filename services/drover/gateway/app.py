"""The composition of the gateway: dependencies in, routes onto an application. Feeding the roster is not here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from drover.bus.messages import Bus
from drover.domain.fleet import FLEET
from drover.domain.fleet.validation import validate as validate_fleet
from drover.domain.render import RENDER
from drover.domain.render.validation import validate as validate_render
from drover.gateway.assignments import Assignments
from drover.gateway.compositions import Compositions
from drover.gateway.device_changes import DeviceChanges
from drover.gateway.field_mapping import FieldMapping
from drover.gateway.gfx_data import GfxData
from drover.gateway.heartbeat import Heartbeats
from drover.gateway.jobs import Jobs
from drover.gateway.limits import DeviceLimits
from drover.gateway.offers import Offers
from drover.gateway.pcs import Pcs
from drover.gateway.polling import Polling
from drover.gateway.reads import Reads
from drover.gateway.registration import Registration
from drover.gateway.relations import RELATIONS
from drover.gateway.render_functions import Tell, render_functions, tell_nobody
from drover.gateway.render_queue import RenderQueue
from drover.gateway.reports import Reports, Telemetry
from drover.gateway.roster import Roster
from drover.gateway.rpc import Rpc
from drover.gateway.sockets import AgentSockets
from drover.gateway.stored_rows import StoredRows
from drover.service.config import Settings
from drover.service.sealing import Sealer
from drover.web.application import ANY, add_route, nothing_here
from drover.web.auth import Authenticator
from drover.web.commands import CommandClient
from drover.web.freshness import Freshness, Waiter
from drover.web.permissions import Permissions
from drover.web.postgrest.read import Pool, unknown_relation


class Part(Protocol):
    def add_routes(self, app: web.Application) -> None: ...


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
    tell: Tell = tell_nobody

    def add_routes(self, app: web.Application) -> None:
        for part in self._parts():
            part.add_routes(app)
        add_route(app, ANY, "/rest/v1/{relation}", self._unknown)

    def _parts(self) -> list[Part]:
        settings, auth, roster, telemetry = self.settings, self.auth, self.roster, self.telemetry
        permissions = Permissions.of(settings)
        freshness = Freshness(self.positions)
        to_fleet = CommandClient(
            self.bus, FLEET.context, freshness=freshness, local=self.roster_at, validate=validate_fleet
        )
        to_render = CommandClient(self.bus, RENDER.context, freshness=freshness, validate=validate_render)
        limits = DeviceLimits(self.bus, per_s=settings.device_requests_per_s, burst=settings.device_requests_burst)
        offers = Offers(roster, to_fleet)
        reports = Reports(roster, to_fleet, telemetry, limits)
        polling = Polling(roster, offers, telemetry, limits, self.roster_at)
        stored = StoredRows(self.pool, self.positions)
        keys = settings.sealing_keys
        gfx_data = GfxData(Sealer.from_settings(keys) if keys else None)
        render_queue = RenderQueue(auth, permissions, to_render, gfx_data, stored)
        more = render_functions(self.tell)
        return [
            Heartbeats(auth, permissions, roster, telemetry, limits, DeviceChanges(roster, to_fleet)),
            Registration(auth, permissions, to_fleet, roster),
            Pcs(auth, permissions, to_fleet, roster),
            Jobs(auth, permissions, to_fleet, roster),
            Assignments(auth, permissions, to_fleet, roster, reports),
            render_queue,
            Compositions(auth, permissions, to_render, stored),
            FieldMapping(auth, permissions, to_render, stored),
            Rpc(auth, permissions, to_fleet, roster, self.roster_at, more=more),
            AgentSockets(auth, permissions, roster, offers, reports, telemetry),
            Reads(auth, permissions, polling, self.pool, freshness, render_queue.unseal),
        ]

    async def _unknown(self, request: web.Request) -> web.StreamResponse:
        self.auth.authenticate(request.headers)
        name = request.match_info["relation"]
        if name in RELATIONS:  # known, but not with this method, which is why no other route took it
            return await nothing_here(request)
        raise unknown_relation(name)
