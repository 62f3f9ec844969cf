"""Answers as JSON."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from drover.web.errors import encode_json


def json_answer(value: Any, status: int, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=encode_json(value), status=status, content_type="application/json", headers=headers or {})
