"""Calls a webhook of the operator: posts signed JSON with an idempotency key, so that the receiver can detect
repeats."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from drover.outbound.http import Outbound
from drover.outbound.signing import HEADER, sign

KEY_HEADER: Final = "Idempotency-Key"


class SignedHook:
    """Posts to one webhook. Subclasses decide what is posted and how to read the response."""

    name = "webhook"

    def __init__(
        self, url: str, secrets: Sequence[str], outbound: Outbound, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._url = url
        self._secrets = tuple(secrets)
        self._outbound = outbound
        self._clock = clock

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._outbound.running():
            yield

    def _headers(self, key: str, body: bytes) -> dict[str, str]:
        return {
            "Content-Type": "application/json",
            "User-Agent": "drover",
            KEY_HEADER: key,
            HEADER: sign(body, self._secrets, int(self._clock())),
        }
