"""Preconditions of a client's write: the values that a row of `render_queue` had when the client's filters matched
it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from drover.domain.decider import Decision, reject
from drover.domain.errors import Code
from drover.domain.render.state import Render


class RowFence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The values that the render must still have, or the write is refused. None: any value."""

    run: int | None = None
    status: str | None = None
    worker_id: str | None = None
    lease_until: datetime | None = None


def moved_on(render: Render | None, fence: RowFence | None) -> Decision | None:
    """Return the refusal of a write whose filters no longer match the render. None: they match, or there are none."""
    if render is None or fence is None:
        return None
    wanted = (fence.run, fence.status, fence.worker_id, fence.lease_until)
    found = (render.run, render.status, render.worker_id, render.lease_until)
    if all(value in (None, now) for value, now in zip(wanted, found, strict=True)):
        return None
    return reject(
        Code.CONFLICT,
        f"Render {render.render_id} no longer matches the filters: it is {render.status}, at run {render.run}",
        render_id=render.render_id,
        status=render.status,
        run=render.run,
    )
