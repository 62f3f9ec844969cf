"""Decides the commands of people: request, cancel, release and run again."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec.structs import asdict, replace

from drover.domain.decider import NOTHING, Decision, accept, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.ids import derived_uuid
from drover.domain.render.alerts import alert_of_recovery, alerts_over
from drover.domain.render.commands import CancelRender, ReleaseRender, RequestRender, RerunRender
from drover.domain.render.erasing import is_render_erased
from drover.domain.render.events import RenderCancelled, RenderRequested, RenderRequeued
from drover.domain.render.fence import moved_on
from drover.domain.render.policy import OPEN_RENDERS_MAX, SEOUL
from drover.domain.render.state import ENDED, WORKING, Render, RenderQueue, Status
from drover.domain.wall_clock import wall_time

LAPSED: Final = "lapsed"
"""Why a render was requeued: its worker did not renew the lease in time."""


def request_render(queue: RenderQueue, command: RequestRender, now: datetime) -> Decision:
    if len(queue.pending.due) + len(queue.held) + len(queue.lent) >= OPEN_RENDERS_MAX:
        return reject(
            Code.CONFLICT, f"{OPEN_RENDERS_MAX} renders are open, which is the maximum; wait until some have ended"
        )
    described = queue.compositions.get(command.composition_id)
    if described is None and queue.compositions and not command.composition:
        return _unknown_composition(command.composition_id)
    render_id = queue.last_id + 1
    name = command.composition or (described.spec.name if described else "") or command.composition_id
    day = command.broadcast_date or (wall_time(queue, now) + SEOUL).date()
    return accept(
        RenderRequested(
            render_id=render_id,
            uid=uid_of(render_id, 1, now),
            **asdict(command) | {"composition": name, "broadcast_date": day},
        )
    )


def _unknown_composition(composition_id: str) -> Decision:
    """Refuse a render of an unknown composition: After Effects would get an unknown name, and no field would be filled
    in.

    This is not called if no composition is known at all, as in some installations. Nor is it called if the request
    gives the composition's name, as clients written for document 003 (the render queue) always do: a composition may be
    rendered by its name without a mapping.
    """
    return reject(
        Code.VALIDATION_ERROR,
        f"Composition {composition_id} is not known. Use an id of aep_compositions, or add it there first; to render a "
        "composition without a mapping, pass its name in After Effects (composition_name)",
        field="composition_id",
        value=composition_id,
    )


def uid_of(render_id: int, generation: int, now: datetime) -> str:
    """Make the uid of a nexrender job. The time is part of it: a queue that was set up anew counts its renders from 1
    again, and must not use the uids of the old queue."""
    return f"drover-{render_id}-{generation}-{derived_uuid(render_id, generation, now.isoformat())[:8]}"


def stop_of(render: Render) -> str | None:
    """Return the uid of the render's job if nexrender may have it. A worker may have submitted the job and crashed
    before it reported that."""
    return render.uid if render.touched else None


def cancel_render(queue: RenderQueue, command: CancelRender, now: datetime) -> Decision:
    render = queue.renders.get(command.render_id)
    if (refusal := moved_on(render, command.only_if)) is not None:
        return refusal
    if render is None or render.status in ENDED:
        return ended(queue, command.render_id, render, "be cancelled")
    # Stop also if only an earlier job was begun, not the present one: its late worker may still put a file on the NAS.
    # An external worker learns of the cancellation from the answer to its next report, and stops its job itself.
    stop = render.uid if render.handled else None
    cancelled = RenderCancelled(render.render_id, render.run, command.reason, stop)
    return accept(cancelled, *alerts_over(queue, render, "cancelled", proven=False))


def release_render(queue: RenderQueue, command: ReleaseRender, now: datetime) -> Decision:
    render = queue.renders.get(command.render_id)
    if (refusal := moved_on(render, command.only_if)) is not None:
        return refusal
    if render is not None and render.status is Status.PENDING:
        return NOTHING
    if render is None or render.status not in WORKING:
        return ended(queue, command.render_id, render, "be released")
    return accept(*taken_back(queue, render, "released", "Released by an operator", now))


def taken_back(queue: RenderQueue, render: Render, reason: str, message: str, now: datetime) -> list[Event]:
    """Take the render from its worker. Its nexrender job goes on: the next worker asks nexrender for it first.

    The job of an external worker cannot be used by others, so after it the next worker starts a new job.
    """
    count = render.recovery_count + 1
    if render.external:
        again = run_again(render, reason, message, now, stop=None)
        requeued = replace(again, recovery_count=count)
    else:
        requeued = RenderRequeued(
            render_id=render.render_id,
            run=render.run,
            reason=reason,
            message=message,
            recovery_count=count,
            generation=render.generation,
            uid=render.uid,
            stop=None,
        )
    return [requeued, *alert_of_recovery(queue, render, now)]


def rerun_render(queue: RenderQueue, command: RerunRender, now: datetime) -> Decision:
    render = queue.renders.get(command.render_id)
    if (refusal := moved_on(render, command.only_if)) is not None:
        return refusal
    if render is None:
        return ended(queue, command.render_id, render, "run again: it ended too long ago, so request it anew")
    if render.status not in (Status.FAILED, Status.CANCELLED):
        return reject(
            Code.CONFLICT,
            f"Render {render.render_id} is {render.status}; only a failed or cancelled one can be run again",
            render_id=render.render_id,
            status=render.status,
        )
    if is_render_erased(queue, render.gfx_id):
        message = f"The gfx_data of render {render.render_id} was erased; request it anew"
        return reject(Code.CONFLICT, message, render_id=render.render_id)
    if (stop := queue.stops.get(render.uid)) is not None and stop.discard:
        # Stopping removes the file on the NAS; it must not remove the new run's file of the same name.
        return reject(
            Code.CONFLICT,
            f"Render {render.render_id} is still being stopped at nexrender; run it again in a minute",
            render_id=render.render_id,
        )
    again = run_again(render, "rerun", "Run again by an operator", now, stop=None)
    return accept(again, *alerts_over(queue, render, "rerun", proven=False))


def run_again(render: Render, reason: str, message: str, now: datetime, *, stop: str | None) -> RenderRequeued:
    """Return the render to the queue, to be run as a new nexrender job."""
    generation = render.generation + 1
    uid = uid_of(render.render_id, generation, now)
    return RenderRequeued(
        render_id=render.render_id,
        run=render.run,
        reason=reason,
        message=message,
        recovery_count=render.recovery_count,
        generation=generation,
        uid=uid,
        stop=stop,
    )


def ended(queue: RenderQueue, render_id: int, render: Render | None, what: str) -> Decision:
    if render is not None:
        message = f"Render {render_id} is {render.status} and cannot {what}"
        return reject(Code.CONFLICT, message, render_id=render_id, status=render.status)
    if 0 < render_id <= queue.last_id:
        return reject(Code.CONFLICT, f"Render {render_id} has ended and cannot {what}", render_id=render_id)
    return reject(Code.NOT_FOUND, f"There is no render {render_id}", render_id=render_id)
