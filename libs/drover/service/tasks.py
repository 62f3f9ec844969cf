"""Ends background tasks reliably."""

from __future__ import annotations

import asyncio
from typing import Any, Final

CANCEL_AGAIN_S: Final = 1.0
"""Time for a task to clean up after the first cancel."""


async def end(*tasks: asyncio.Future[Any]) -> None:
    """Cancel until the tasks end, and ignore their exceptions.

    One cancel is not enough: `asyncio.wait_for` of Python 3.11 loses a cancellation that coincides with its result, and
    nats-py swallows one during a flush.
    """
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=CANCEL_AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)
