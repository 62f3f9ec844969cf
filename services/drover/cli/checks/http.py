"""Sends the HTTP requests of checks to the platform."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import aiohttp
import msgspec

HTTP_S: Final = 5.0
BODY_BYTES_MAX: Final = 64 * 1024


async def ask(
    host: str, port: int, method: str, path: str, headers: Mapping[str, str] | None = None, *, https: bool = False
) -> tuple[int, dict[str, Any]] | None:
    """Send a request without secrets to the platform at `host`. Returns status and body of the answer; None if Drover
    does not answer there."""
    where = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host  # noqa: S104 - compared with, not bound to
    url = f"{'https' if https else 'http'}://{f'[{where}]' if ':' in where else where}:{port}{path}"
    try:
        # ssl=False: the certificate is for the name that others use, not for this address.
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=HTTP_S)) as session,
            session.request(method, url, headers=headers, allow_redirects=False, ssl=False) as answer,
        ):
            raw = await answer.content.read(BODY_BYTES_MAX)
            body = msgspec.json.decode(raw)
    except (aiohttp.ClientError, OSError, ValueError, msgspec.DecodeError):  # TimeoutError is an OSError
        return None
    return (answer.status, body) if isinstance(body, dict) else None
