"""Waits for a condition in a test, instead of sleeping."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

PATIENCE_S: Final = 60.0
"""How long to wait before the test fails. It is long, because a machine may be busy with other things."""
LOOK_EVERY_S: Final = 0.01


async def eventually(
    condition: Callable[[], T | Awaitable[T]], within_s: float = PATIENCE_S, every_s: float = LOOK_EVERY_S
) -> T:
    """Wait until the condition's value is true and return it. Raises TimeoutError with the last value."""
    deadline = asyncio.get_running_loop().time() + within_s
    while True:
        found: Any = condition()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found  # type: ignore[no-any-return]
        if asyncio.get_running_loop().time() > deadline:
            raise TimeoutError(f"not within {within_s} s; the last value was {found!r}")
        await asyncio.sleep(every_s)
