"""Runs background tasks while a block runs, and ends them reliably."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

CANCEL_AGAIN_S: Final = 1.0
"""How many seconds a cancelled task may take to end before it is cancelled again."""


async def end(*tasks: asyncio.Future[Any]) -> None:
    """Cancel the tasks again and again until they end, and ignore their exceptions.

    One cancel is not enough: `asyncio.wait_for` of Python 3.11 loses a cancellation that coincides with its result, and
    nats-py swallows one during a flush.
    """
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=CANCEL_AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def in_background(
    work: Coroutine[Any, Any, None], *, name: str | None = None
) -> AsyncIterator[asyncio.Task[None]]:
    """Run a coroutine as a task for the length of the block. On exit the task is cancelled."""
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        await end(task)
