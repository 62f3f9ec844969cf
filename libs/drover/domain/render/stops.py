"""Decides about stops: nexrender jobs that workers must stop. A stop stays open until a worker reports that it is
done."""

from __future__ import annotations

from datetime import datetime

from drover.domain.alerts import raise_alert
from drover.domain.decider import NOTHING, Decision, accept, answer, reject
from drover.domain.errors import Code
from drover.domain.render.alerts import STOP_FAILED
from drover.domain.render.commands import ClaimStop, ReportStopped
from drover.domain.render.events import RenderStopped, StopAbandoned, StopClaimed
from drover.domain.render.policy import ALERT_LIFETIME, STOP_CLAIM, STOP_TRIES_MAX
from drover.domain.render.state import RenderQueue


def claim_stop(queue: RenderQueue, command: ClaimStop, now: datetime) -> Decision:
    first = queue.stops_due.first()
    if first is None or first[0] > now:
        return answer(None)
    stop = queue.stops[first[1]]
    if stop.tries < STOP_TRIES_MAX:
        return accept(
            StopClaimed(
                render_id=stop.render_id,
                uid=stop.uid,
                worker_id=command.worker_id,
                until=now + STOP_CLAIM,
                tries=stop.tries + 1,
                composition=stop.composition,
                broadcast_date=stop.broadcast_date,
                discard=stop.discard,
                nexrender_job_id=stop.nexrender_job_id,
            )
        )
    text = f"nexrender job {stop.uid} of render {stop.render_id} could not be stopped; remove it manually"
    alert = raise_alert(queue, STOP_FAILED, stop.uid, text, now, until=now + ALERT_LIFETIME, uid=stop.uid)
    # Try the next stop at once: a worker that gets none would not ask again for a while.
    return accept(
        StopAbandoned(stop.render_id, stop.uid, stop.tries), *alert, then=lambda q, at: claim_stop(q, command, at)
    )


def report_stopped(queue: RenderQueue, command: ReportStopped, now: datetime) -> Decision:
    stop = queue.stops.get(command.uid)
    if stop is None:
        return NOTHING  # already reported
    if stop.render_id != command.render_id:
        return reject(Code.CONFLICT, f"The job {stop.uid} belongs to render {stop.render_id}", uid=stop.uid)
    return accept(RenderStopped(stop.render_id, stop.uid, command.worker_id))
