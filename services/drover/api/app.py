"""The composition of the api service: routes for people."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import msgspec
from aiohttp import web

from drover.api.live.live import Live
from drover.api.status import StatusReader
from drover.web.application import add_route
from drover.web.auth import Authenticator
from drover.web.permissions import Verb, demand

FRONT_PAGE: Final = {
    "/": ("front.html", "text/html"),
    "/front.css": ("front.css", "text/css"),
    "/front.js": ("front.js", "text/javascript"),
}


@dataclass(frozen=True)
class Api:
    auth: Authenticator
    status: StatusReader
    live: Live

    def add_routes(self, app: web.Application) -> None:
        page = {
            path: (files("drover.api").joinpath(name).read_bytes(), content_type)
            for path, (name, content_type) in FRONT_PAGE.items()
        }
        encoder = msgspec.json.Encoder()

        async def front(request: web.Request) -> web.Response:
            body, content_type = page[request.path]
            return web.Response(body=body, content_type=content_type, charset="utf-8")

        async def status(request: web.Request) -> web.Response:
            demand(self.auth.authenticate(request.headers), "status", Verb.READ)
            return web.Response(body=encoder.encode(await self.status.read()), content_type="application/json")

        for path in FRONT_PAGE:
            add_route(app, "GET", path, front)
        add_route(app, "GET", "/api/status", status)
        self.live.add_routes(app)
