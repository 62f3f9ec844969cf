"""Ending background tasks for certain."""

from __future__ import annotations

import asyncio
from typing import Any, Final

CANCEL_AGAIN_S: Final = 1.0
"""Long enough for a task to clean up after the first one."""


async def end(*tasks: asyncio.Future[Any]) -> None:
    """Cancel until it helps, and swallow what they raise.

    Once is not enough: `asyncio.wait_for` of Python 3.11 loses a cancellation that meets its result, and nats-py
    swallows one that comes while it flushes.
    """
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=CANCEL_AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)
