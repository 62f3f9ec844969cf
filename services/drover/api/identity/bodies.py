"""Parses request bodies with passwords and tokens. Errors never repeat their content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web

from drover.web.answers import NO_STORE, json_answer
from drover.web.bodies import read_body
from drover.web.errors import invalid, too_large

BYTES_MAX: Final = 16 * 1024
PRIVATE: Final = {**NO_STORE, "Pragma": "no-cache"}

T = TypeVar("T", bound=msgspec.Struct)


class SignInBody(msgspec.Struct):
    """E-mail address and password. Other fields, which Supabase's clients send, are ignored."""

    email: str
    password: str


class RefreshBody(msgspec.Struct):
    refresh_token: str


async def read(request: web.Request, shape: type[T], bytes_max: int = BYTES_MAX) -> T:
    raw = await read_body(request)
    if len(raw) > bytes_max:
        raise too_large(bytes_max)
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        # Not `from error`: its text may contain a part of the body.
        fields = ", ".join(field.encode_name for field in msgspec.structs.fields(shape))
        raise invalid(f"The body must be a JSON object with {fields}") from None


def respond(body: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Make a JSON response that must not be cached."""
    return json_answer(body, status=status, headers={**PRIVATE, **(headers or {})})
