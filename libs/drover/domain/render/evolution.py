"""`evolve`: applies events to the render queue. It holds no rules of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drover.domain import alerts
from drover.domain.erasure import note_erased
from drover.domain.event import TermStarted
from drover.domain.past import KEPT_AT_LEAST
from drover.domain.render import events as e
from drover.domain.render import evolve_mapping
from drover.domain.render.commands import RequestRender
from drover.domain.render.erasing import CONTEXT
from drover.domain.render.evolve_workers import watch_workers
from drover.domain.render.policy import ARCHIVE_AFTER, PAST_RENDERS_MAX
from drover.domain.render.state import Render, RenderQueue, Status, Stop
from drover.domain.render.timer_keys import archive_timer, lease_timer, place_in_queue, timeout_timer
from drover.domain.spec import fields_of
from drover.domain.wall_clock import note_ahead


def _term_started(queue: RenderQueue, event: TermStarted) -> None:
    note_ahead(queue, event)


def _nothing(queue: RenderQueue, event: e.QueueEvent) -> None:
    """Change nothing: the event is only for people to see."""


def _requested(queue: RenderQueue, event: e.RenderRequested) -> None:
    queue.last_id = event.render_id
    queue.renders[event.render_id] = render = Render(
        render_id=event.render_id, requested_at=event.at, uid=event.uid, **fields_of(RequestRender, event)
    )
    _wait(queue, render)


def _wait(queue: RenderQueue, render: Render) -> None:
    queue.pending.set(place_in_queue(render.render_id), render.requested_at)


def _leave_worker(queue: RenderQueue, render: Render) -> None:
    if render.render_id in queue.lent:
        queue.lent.discard(render.render_id)
    elif render.worker_id is not None:
        queue.held.pop(render.worker_id, None)
    render.worker_id = render.leased_at = render.lease_until = render.retry_due = None
    queue.timers.clear(lease_timer(render.render_id))


def _claimed(queue: RenderQueue, event: e.RenderClaimed) -> None:
    render = queue.renders[event.render_id]
    queue.pending.clear(place_in_queue(event.render_id))
    render.status, render.run = Status.PREPARING, event.run
    render.worker_id, render.external = event.worker_id, event.external
    render.resumes += event.resumed
    render.retry_due = None
    if event.external:
        queue.lent.add(event.render_id)
    else:
        render.touched = render.handled = True
        queue.held[event.worker_id] = event.render_id
    _renewed(queue, event)


def _renewed(queue: RenderQueue, event: e.LeaseRenewed | e.RenderClaimed) -> None:
    render = queue.renders[event.render_id]
    render.leased_at, render.lease_until = event.at, event.lease_until
    queue.timers.set(lease_timer(event.render_id), event.lease_until)


def _submitted(queue: RenderQueue, event: e.RenderSubmitted) -> None:
    render = queue.renders[event.render_id]
    render.status = Status.RENDERING
    render.nexrender_job_id = event.nexrender_job_id or None
    render.started_at = render.started_at or event.at
    _regain(render)
    queue.timers.set(timeout_timer(event.render_id), event.timeout_at)


def _regain(render: Render) -> None:
    """Reset the retries that were caused by nexrender being down, because it has answered."""
    render.retries.pop("NEXRENDER_DOWN", None)
    render.retry_due = None


def _progressed(queue: RenderQueue, event: e.RenderProgressed) -> None:
    render = queue.renders[event.render_id]
    render.progress = event.progress
    _regain(render)


def _encoding(queue: RenderQueue, event: e.EncodingStarted) -> None:
    render = queue.renders[event.render_id]
    render.status, render.progress = Status.ENCODING, event.progress
    _regain(render)


def _uploading(queue: RenderQueue, event: e.UploadStarted) -> None:
    render = queue.renders[event.render_id]
    render.status, render.progress, render.rendered = Status.UPLOADING, 100, True
    _regain(render)
    queue.timers.clear(timeout_timer(event.render_id))


def _retry(queue: RenderQueue, event: e.RetryScheduled) -> None:
    render = queue.renders[event.render_id]
    render.retries[event.fault] = event.number
    render.retry_due = event.due_at


def _requeued(queue: RenderQueue, event: e.RenderRequeued) -> None:
    render = queue.renders[event.render_id]
    _leave_worker(queue, render)
    _stop(queue, render, event.stop, event)
    render.status = Status.PENDING
    render.recovery_count = event.recovery_count
    queue.timers.clear(archive_timer(event.render_id))
    queue.past.drop(archive_timer(event.render_id))
    if event.generation != render.generation:
        render.generation, render.uid = event.generation, event.uid
        render.touched = render.rendered = False
        render.progress, render.nexrender_job_id, render.started_at = 0, None, None
        # A new job starts over, so step retries start over, too. Only retries of the whole render keep counting.
        render.retries = {fault: count for fault, count in render.retries.items() if fault in _COUNTED}
        queue.timers.clear(timeout_timer(event.render_id))
    if event.reason == "rerun":
        render.retries, render.resumes = {}, 0
    elif event.reason in _COUNTED:
        render.retries[event.reason] = render.retries.get(event.reason, 0) + 1
    _wait(queue, render)


_COUNTED: Final = frozenset({"RENDER_TIMEOUT", "RENDER_LOST"})
"""Faults after which the whole render is run again. Their retries are counted when the render returns to the queue, and
the counts are kept for its next job."""


def _completed(queue: RenderQueue, event: e.RenderCompleted) -> None:
    render = queue.renders[event.render_id]
    render.status, render.progress, render.sha256 = Status.COMPLETED, 100, event.sha256
    render.gfx_data = ""  # never rendered again; this frees most of its memory
    _end(queue, render, event)


def _failed(queue: RenderQueue, event: e.RenderFailed) -> None:
    render = queue.renders[event.render_id]
    render.status = Status.FAILED
    _stop(queue, render, event.stop, event)
    _end(queue, render, event)


def _cancelled(queue: RenderQueue, event: e.RenderCancelled) -> None:
    render = queue.renders[event.render_id]
    render.status = Status.CANCELLED
    _stop(queue, render, event.stop, event)
    _end(queue, render, event)


def _end(queue: RenderQueue, render: Render, event: e.RenderEvent) -> None:
    _leave_worker(queue, render)
    queue.pending.clear(place_in_queue(render.render_id))
    queue.timers.clear(timeout_timer(render.render_id))
    queue.timers.set(archive_timer(render.render_id), event.at + ARCHIVE_AFTER)
    queue.past.add(archive_timer(render.render_id))
    queue.past.shorten(queue.timers, sooner=ARCHIVE_AFTER - KEPT_AT_LEAST, count_max=PAST_RENDERS_MAX)


def _stop(queue: RenderQueue, render: Render, uid: str | None, event: e.RenderEvent) -> None:
    if uid is None:
        return
    discard = isinstance(event, e.RenderCancelled)
    # The job of an external worker may be at another nexrender.
    job_id = None if render.external else render.nexrender_job_id
    queue.stops[uid] = Stop(render.render_id, uid, render.composition, render.broadcast_date, discard, job_id)
    queue.stops_due.set(uid, event.at)


def _stop_claimed(queue: RenderQueue, event: e.StopClaimed) -> None:
    queue.stops[event.uid].tries = event.tries
    queue.stops_due.set(event.uid, event.until)


def _stop_over(queue: RenderQueue, event: e.RenderStopped | e.StopAbandoned) -> None:
    queue.stops.pop(event.uid, None)
    queue.stops_due.clear(event.uid)


def _archived(queue: RenderQueue, event: e.RenderArchived) -> None:
    del queue.renders[event.render_id]
    queue.past.drop(archive_timer(event.render_id))
    queue.timers.clear(archive_timer(event.render_id))


def _erased(queue: RenderQueue, event: e.RenderErased) -> None:
    note_erased(queue.erased, CONTEXT, event.gfx_id)


_EVOLVE: Final[dict[type, Callable[[RenderQueue, Any], None]]] = {
    TermStarted: _term_started,
    e.RenderRequested: _requested,
    e.RenderClaimed: _claimed,
    e.LeaseRenewed: _renewed,
    e.RenderSubmitted: _submitted,
    e.RenderProgressed: _progressed,
    e.EncodingStarted: _encoding,
    e.UploadStarted: _uploading,
    e.FieldsUnmapped: _nothing,
    e.RenderErased: _erased,
    e.RetryScheduled: _retry,
    e.RenderRequeued: _requeued,
    e.RenderCompleted: _completed,
    e.RenderFailed: _failed,
    e.RenderCancelled: _cancelled,
    e.StopClaimed: _stop_claimed,
    e.RenderStopped: _stop_over,
    e.StopAbandoned: _stop_over,
    e.StaleRunRefused: _nothing,
    e.RenderArchived: _archived,
    **alerts.EVOLVE,
    **evolve_mapping.EVOLVE,
}


def evolve(queue: RenderQueue, event: e.QueueEvent) -> RenderQueue:
    _EVOLVE[type(event)](queue, event)
    watch_workers(queue, event)
    return queue
