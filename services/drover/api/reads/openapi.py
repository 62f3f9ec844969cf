"""`GET /api/openapi.json`: the document of all services. It is put together where all of them are known."""

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
        """For anybody: it says what there is, and nothing of what is in it."""
        if self._body is None:  # in a thread: it reads the source of every shape, and the loop is shared
            self._body = await asyncio.to_thread(lambda: msgspec.json.encode(self._document()))
        headers = {"Cache-Control": "no-cache"}
        return web.Response(body=self._body, content_type="application/json", headers=headers)
