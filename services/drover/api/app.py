"""The composition of the api service: routes for people."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from aiohttp import web

from drover.api.dashboard import Dashboard, find_dashboard
from drover.api.live.live import Live
from drover.api.status import StatusReader
from drover.web.application import add_route
from drover.web.auth import Authenticator
from drover.web.permissions import Verb, demand


@dataclass(frozen=True)
class Api:
    auth: Authenticator
    status: StatusReader
    live: Live

    def add_routes(self, app: web.Application) -> None:
        encoder = msgspec.json.Encoder()

        async def status(request: web.Request) -> web.Response:
            demand(self.auth.authenticate(request.headers), "status", Verb.READ)
            return web.Response(body=encoder.encode(await self.status.read()), content_type="application/json")

        add_route(app, "GET", "/api/status", status)
        self.live.add_routes(app)
        Dashboard(find_dashboard()).add_routes(app)
