"""Decodes commits in a thread, one chunk ahead of their reader, so that decoding does not block the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from typing import Final

from drover.archive.text import Placed

CHUNK_COMMITS: Final = 1000
CHUNK_BYTES: Final = 8 * 1024 * 1024
"""How much is decoded at a time. At most two chunks are in memory."""


async def in_thread(commits: Generator[Placed, None, None]) -> AsyncGenerator[Placed, None]:
    """Yield the commits of a generator that runs in a thread. Use it with `aclosing` if you may not read to the end."""
    ahead = asyncio.ensure_future(asyncio.to_thread(_chunk, commits))
    try:
        while True:
            found, error = await asyncio.shield(ahead)
            if found and error is None:
                ahead = asyncio.ensure_future(asyncio.to_thread(_chunk, commits))
            for placed in found:
                yield placed
            if error is not None:
                raise error
            if not found:
                return
    finally:
        await asyncio.wait([ahead])  # a thread cannot be cancelled, and a running generator cannot be closed
        commits.close()


def _chunk(commits: Generator[Placed, None, None]) -> tuple[list[Placed], Exception | None]:
    """Return the next commits, and the error that came after them, if there was one."""
    found: list[Placed] = []
    size = 0
    try:
        for placed in commits:
            found.append(placed)
            size += len(placed.commit.payload)
            if len(found) == CHUNK_COMMITS or size >= CHUNK_BYTES:
                break
    except Exception as error:
        return found, error
    return found, None
