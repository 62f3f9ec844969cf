"""Decodes commits in a thread, one chunk ahead of their reader, so that decoding does not block the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from typing import Final

from drover.archive.text import Placed

CHUNK_COMMITS: Final = 1000
CHUNK_BYTES: Final = 8 * 1024 * 1024
"""How many bytes of commits are decoded at a time. At most two such chunks are in memory."""


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
        # Wait for the thread: it cannot be cancelled, and a generator cannot be closed while it runs.
        await asyncio.wait([ahead])
        commits.close()


def _chunk(commits: Generator[Placed, None, None]) -> tuple[list[Placed], Exception | None]:
    """Return the next chunk of commits. If an error came after them, return it, too, else None."""
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
