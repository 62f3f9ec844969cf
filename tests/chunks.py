"""A snapshot in pieces, as it comes out of the child that encodes it."""

from __future__ import annotations

from collections.abc import AsyncIterator


async def each(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
