"""Makes the JSON answers of handlers. `errors` makes those of errors, and `postgrest` those of `/rest`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from drover.web.errors import encode_json
from drover.web.route import JSON

NO_STORE: Final = {"Cache-Control": "no-store"}


class UnloggedResponse(web.Response):
    """An answer that the access log leaves out: the answer to a heartbeat, an empty poll or a probe, which nobody looks
    for."""

    __slots__ = ()  # so that it is as quick to make as a web.Response


def unlogged(answer: web.Response) -> UnloggedResponse:
    return UnloggedResponse(body=answer.body, status=answer.status, headers=answer.headers)


def json_answer(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=encode_json(value), status=status, content_type=JSON, headers=headers)
