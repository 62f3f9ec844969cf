"""Makes the JSON answers of handlers. `errors` makes those of errors, and `postgrest` those of `/rest`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from drover.web.errors import encode_json
from drover.web.route import JSON

NO_STORE: Final = {"Cache-Control": "no-store"}


def json_answer(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=encode_json(value), status=status, content_type=JSON, headers=headers)
