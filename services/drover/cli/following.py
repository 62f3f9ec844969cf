"""Ends a command that follows the log when nobody reads its output any more, as `tail -f` does. Without this, a closed
pipe is noticed only at the next write."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Coroutine
from typing import Any

from drover.service.tasks import end


async def while_somebody_reads(work: Coroutine[Any, Any, None]) -> None:
    """Run the work. Raises BrokenPipeError if standard output is a pipe that its reader has closed (`| head -1`)."""
    if (pipe := _output_pipe()) is None:
        await work
        return
    loop = asyncio.get_running_loop()
    left = asyncio.Event()
    loop.add_reader(pipe, left.set)  # the write end never becomes readable, only broken
    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(left.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if left.is_set():
            raise BrokenPipeError
        tasks[0].result()
    finally:
        loop.remove_reader(pipe)
        await end(*tasks)


def _output_pipe() -> int | None:
    try:
        output = sys.stdout.fileno()
        return output if stat.S_ISFIFO(os.fstat(output).st_mode) else None
    except (OSError, ValueError, AttributeError):  # not a file, as in tests
        return None
