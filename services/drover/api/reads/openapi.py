"""`GET /api/openapi.json`: the OpenAPI document of all services, made by the process that assembles them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from drover.web.route import Answer, Route, handles


class DocumentPage:
    def __init__(self, document: Callable[[], dict[str, Any]]) -> None:
        self._document = document
        self._body: bytes | None = None

    @handles(
        Route(
            method="GET",
            path="/api/openapi.json",
            id="getOpenapi",
            tag="process",
            summary="This document",
            caller="anybody",
            answers={200: Answer(dict[str, Any], "OpenAPI 3.1")},
        )
    )
    async def get(self, request: web.Request) -> web.Response:
        """Send the OpenAPI document. Needs no permission: the document describes the API and contains no data."""
        if self._body is None:  # in a thread: it reads the source of every type, and the event loop is shared
            self._body = await asyncio.to_thread(lambda: msgspec.json.encode(self._document()))
        headers = {"Cache-Control": "no-cache"}
        return web.Response(body=self._body, content_type="application/json", headers=headers)
