"""Sends large answers with a time limit, so that clients that do not read them cannot fill the memory."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web
from prometheus_client import Counter

LARGE_BYTES: Final = 64 * 1024
"""Up to this size, aiohttp sends the answer without a time limit: a connection buffers about as much anyway."""
ANSWER_WITHIN_S: Final = 30.0
ANSWER_BYTES_PER_S: Final = 64 * 1024
"""How fast a client must read on average, in addition to `ANSWER_WITHIN_S`. It may pause."""
UNREAD_ANSWERS: Final = Counter(
    "drover_http_unread_answers_total", "Answers dropped because the client read them too slowly"
)


async def send_if_large(request: web.Request, response: web.StreamResponse) -> None:
    """Send the answer now if it is large, and drop the connection if the client does not read it in time. Small answers
    and streams are left alone; streams have bounds of their own."""
    if not isinstance(response, web.Response) or not isinstance(response.body, bytes | bytearray):
        return
    size = len(response.body)
    if size <= LARGE_BYTES:
        return
    try:
        async with asyncio.timeout(ANSWER_WITHIN_S + size / ANSWER_BYTES_PER_S):
            await response.prepare(request)
            await response.write_eof()
    except TimeoutError as error:
        UNREAD_ANSWERS.inc()
        if request.transport is not None:
            request.transport.abort()  # close() would wait until its buffer has been read
        raise ConnectionResetError("The answer was not read in time") from error
