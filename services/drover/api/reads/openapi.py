"""`GET /api/openapi.json`: the document of all services. It is put together where all of them are known."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import msgspec
from aiohttp import web

from drover.web.application import add_route

PATH: Final = "/api/openapi.json"


class DocumentPage:
    def __init__(self, document: Callable[[], dict[str, Any]]) -> None:
        self._document = document

    def add_routes(self, app: web.Application) -> None:
        add_route(app, "GET", PATH, self.get)

    async def get(self, request: web.Request) -> web.Response:
        """For anybody: it says what there is, and nothing of what is in it."""
        headers = {"Cache-Control": "no-cache"}
        return web.Response(body=self._body, content_type="application/json", headers=headers)

    @cached_property
    def _body(self) -> bytes:
        return msgspec.json.encode(self._document())
