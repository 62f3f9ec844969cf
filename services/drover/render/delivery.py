"""Delivery: publishes a rendered file on the NAS under its final name, atomically. Overwrites no file of other
renders."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from drover.domain.errors import DroverError
from drover.nas.naming import final_name, temporary_name
from drover.nas.store import Digest, Fence, NasAway, NasStore, TooLate
from drover.render.queue import Details, Overtaken, Stop

PUBLISH_TRIES: Final = 3


async def deliver(
    nas: NasStore,
    source: Path,
    digest: Digest,
    render: Details,
    run: int,
    *,
    hold: Callable[[], Awaitable[Fence]],
) -> str:
    """Publish the file, and return its location. `hold` checks with the queue that this run still holds the render, and
    returns a fence, which closes when that answer is too old to rely on. It raises Overtaken if this run no longer
    holds the render; then the run leaves no file."""
    final = final_name(render.broadcast_date, render.composition, render.render_id)
    temporary = temporary_name(final, run)
    try:
        await nas.put(source, temporary, expected=digest)
        for _ in range(PUBLISH_TRIES):
            with suppress(TooLate):
                if await nas.publish(temporary, final, fence=await hold()):
                    return nas.location(final)
                if await nas.digest(final) == digest:
                    # An earlier run published the same file but could not report it.
                    await nas.remove(temporary)
                    return nas.location(final)
                # The final name has a file of an earlier try. While this run holds the render, it may replace the file.
                await nas.remove(final, fence=await hold())
    except Overtaken:
        with suppress(DroverError):  # on failure the sweep removes the temporary file
            await nas.remove(temporary)
        raise
    raise NasAway("publish", str(final), "the name stays taken, or it took too long")


async def withdraw(nas: NasStore, render: Details | Stop, *, fence: Fence) -> None:
    """Remove the file of a cancelled render. `fence` must close before the render can have been run again: otherwise
    the file of the new run could be removed."""
    await nas.remove(final_name(render.broadcast_date, render.composition, render.render_id), fence=fence)
