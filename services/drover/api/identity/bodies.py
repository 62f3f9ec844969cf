"""Bodies with passwords and tokens: read strictly, and never echoed in an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web

from drover.web.bodies import read_body
from drover.web.errors import encode_json, invalid, too_large

BYTES_MAX: Final = 16 * 1024
NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}

T = TypeVar("T", bound=msgspec.Struct)


class SignInBody(msgspec.Struct):
    """Supabase's clients send more fields than these; the others are ignored."""

    email: str
    password: str


class RefreshBody(msgspec.Struct):
    refresh_token: str


async def read(request: web.Request, shape: type[T]) -> T:
    raw = await read_body(request)
    if len(raw) > BYTES_MAX:
        raise too_large(BYTES_MAX)
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        # Not `from error`: its text may contain a part of the body.
        fields = ", ".join(field.encode_name for field in msgspec.structs.fields(shape))
        raise invalid(f"The body must be a JSON object with {fields}") from None


def respond(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """JSON that must not be cached."""
    return web.Response(
        body=encode_json(body), status=status, content_type="application/json", headers={**NO_STORE, **(headers or {})}
    )
