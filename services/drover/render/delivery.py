"""The last step: the file appears on the NAS under its name, whole or not at all, and nobody else's is overwritten."""

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
    """Where it is now. `hold` raises Overtaken when the render is not ours: then nothing of this run stays."""
    final = final_name(render.broadcast_date, render.composition, render.render_id)
    temporary = temporary_name(final, run)
    try:
        await nas.put(source, temporary, expected=digest)
        for _ in range(PUBLISH_TRIES):
            with suppress(TooLate):
                if await nas.publish(temporary, final, fence=await hold()):
                    return nas.location(final)
                if await nas.digest(final) == digest:
                    # A former self got this far and could not say so.
                    await nas.remove(temporary)
                    return nas.location(final)
                # Of an earlier try of this render, which is not completed: as long as it is ours, so is the name.
                await nas.remove(final, fence=await hold())
    except Overtaken:
        with suppress(DroverError):  # else the sweep takes it
            await nas.remove(temporary)
        raise
    raise NasAway("publish", str(final), "somebody else keeps the name, or it took too long")


async def withdraw(nas: NasStore, render: Details | Stop, *, fence: Fence) -> None:
    """A cancelled render leaves no file. The fence: as long as nobody can have run it again."""
    await nas.remove(final_name(render.broadcast_date, render.composition, render.render_id), fence=fence)
