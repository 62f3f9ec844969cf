"""Makes the answer to a command from the events that it recorded, and from nothing else. So a repeated command gets the
same answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from drover.domain.render import events as e
from drover.domain.render.erasing import told as erased_answer
from drover.domain.render.mapping_spec import CompositionSpec, Layer
from drover.domain.render.state import RenderPurpose, Status
from drover.domain.render.work import stale_rejection
from drover.domain.spec import fields_of


def answer(events: Sequence[e.QueueEvent]) -> Any:
    """Make the answer from the first event that has one. If a claim also requeues the render, because the worker starts
    a job of its own, the answer is that of the claim."""
    for event in sorted(events, key=lambda event: type(event) is not e.RenderClaimed):
        tell = _TELL.get(type(event))
        if tell is not None:
            return tell(event)
    return None


def _requested(event: e.RenderRequested) -> dict[str, Any]:
    return {
        "id": event.render_id,
        **fields_of(RenderPurpose, event),
        "composition": event.composition,
        "status": Status.PENDING,
        "progress": 0,
        "recovery_count": 0,
        "created_at": event.at,
        "updated_at": event.at,
    }


def _claimed(event: e.RenderClaimed) -> dict[str, Any]:
    return {
        "render_id": event.render_id,
        "run": event.run,
        "lease_until": event.lease_until,
        "lease_s": (event.lease_until - event.at).total_seconds(),
        "resumed": event.resumed,
        "id": event.render_id,
        "status": Status.PREPARING,
        "worker_id": event.worker_id,
        "lock_expires_at": event.lease_until,
        "updated_at": event.at,
    }


def _renewed(event: e.LeaseRenewed) -> dict[str, Any]:
    return {
        "lease_until": event.lease_until,
        "lease_s": (event.lease_until - event.at).total_seconds(),
        "lock_expires_at": event.lease_until,
    }


def _retry(event: e.RetryScheduled) -> dict[str, Any]:
    """Tell a worker when to retry: also as a delay, because the worker's clock may differ from ours."""
    delay_s = (event.due_at - event.at).total_seconds()
    return {"again": "step", "number": event.number, "due_at": event.due_at, "delay_s": delay_s}


def _requeued(event: e.RenderRequeued) -> dict[str, Any]:
    """Answer a command that returned a render to the queue. A worker learns that it no longer holds the render, an
    operator learns the new status."""
    return {
        "again": "render",
        "id": event.render_id,
        "status": Status.PENDING,
        "recovery_count": event.recovery_count,
        "worker_id": None,
        "lock_expires_at": None,
        "updated_at": event.at,
    }


def _ended(status: Status) -> Callable[[e.RenderFailed | e.RenderCancelled | e.RenderCompleted], dict[str, Any]]:
    def tell(event: e.RenderFailed | e.RenderCancelled | e.RenderCompleted) -> dict[str, Any]:
        return {"again": None, "id": event.render_id, "status": status, "updated_at": event.at}

    return tell


def _completed(event: e.RenderCompleted) -> dict[str, Any]:
    return {**_ended(Status.COMPLETED)(event), "duration_seconds": event.duration_seconds}


def _stop(event: e.StopClaimed) -> dict[str, Any]:
    return {
        "render_id": event.render_id,
        "uid": event.uid,
        "composition": event.composition,
        "broadcast_date": event.broadcast_date,
        "discard": event.discard,
        "nexrender_job_id": event.nexrender_job_id,
    }


def _mapped(event: e.FieldMapped) -> dict[str, Any]:
    return {
        "id": event.mapping_id,
        "composition_id": event.composition_id,
        "field_name": event.field_name,
        **fields_of(Layer, event),
        "updated_at": event.at,
    }


def _described(event: e.CompositionDescribed) -> dict[str, Any]:
    return {"id": event.composition_id, **fields_of(CompositionSpec, event), "updated_at": event.at}


_TELL: Final[dict[type, Callable[[Any], Any]]] = {
    e.RenderRequested: _requested,
    e.RenderClaimed: _claimed,
    e.RenderErased: lambda event: erased_answer(event.render_id),
    e.LeaseRenewed: _renewed,
    e.RetryScheduled: _retry,
    e.RenderRequeued: _requeued,
    e.RenderFailed: _ended(Status.FAILED),
    e.RenderCancelled: _ended(Status.CANCELLED),
    e.RenderCompleted: _completed,
    e.StopClaimed: _stop,
    e.FieldMapped: _mapped,
    e.CompositionDescribed: _described,
    e.StaleRunRefused: stale_rejection,
}
