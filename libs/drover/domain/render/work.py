"""Decides the commands of workers: claim, renew, report. A report about a run that has ended is refused and changes
nothing."""

from __future__ import annotations

from datetime import datetime, timedelta

from drover.domain.decider import NOTHING, Decision, Rejection, accept, answer, refuse_recording
from drover.domain.errors import Code
from drover.domain.render import commands as c
from drover.domain.render.alerts import alert_of_recovery, alerts_over, worker_heard
from drover.domain.render.events import (
    EncodingStarted,
    FieldsUnmapped,
    LeaseRenewed,
    RenderClaimed,
    RenderCompleted,
    RenderProgressed,
    RenderRequeued,
    RenderSubmitted,
    StaleRunRefused,
    UploadStarted,
)
from drover.domain.render.policy import PROGRESS_STEP, Policy
from drover.domain.render.state import WORKING, Render, RenderQueue, Status
from drover.domain.render.texts import listed


def claim(policy: Policy, queue: RenderQueue, command: c.Claim, now: datetime) -> Decision:
    lease_until = now + timedelta(seconds=policy.lease_s)
    held = queue.held.get(command.worker_id)
    # The worker crashed and came back: it resumes its render in a new run, so late reports of the old run are refused.
    if held is not None:
        render = queue.renders[held]
        resumed = RenderClaimed(held, render.run + 1, command.worker_id, lease_until, True)
        return accept(resumed, *alert_of_recovery(queue, render, now), *worker_heard(queue, "claimed"))
    first = queue.pending.first()
    if first is None:
        return answer(None)
    render = queue.renders[int(first[1])]
    claimed = RenderClaimed(render.render_id, render.run + 1, command.worker_id, lease_until, False)
    return accept(claimed, *worker_heard(queue, "claimed"))


def current(queue: RenderQueue, report: c.Report) -> Render | None:
    """Find the render of the report. None if this worker no longer holds it, or the run has ended."""
    render = queue.renders.get(report.render_id)
    if render is None or render.run != report.run or render.worker_id != report.worker_id:
        return None
    return render if render.status in WORKING else None


def renew_lease(policy: Policy, queue: RenderQueue, command: c.RenewLease, now: datetime) -> Decision:
    render = current(queue, command)
    if render is None:
        return overtaken(queue, command, record=False)
    renewed = LeaseRenewed(*run_of(render), now + timedelta(seconds=policy.lease_s))
    return accept(renewed, *worker_heard(queue, "renewed"))


def hand_back(queue: RenderQueue, command: c.HandBack, now: datetime) -> Decision:
    """Return the render to the queue. This does not count as a lost worker, because nothing went wrong. The nexrender
    job goes on, and the next worker finds it."""
    render = current(queue, command)
    if render is None:
        return overtaken(queue, command)
    message = f"Worker {command.worker_id} was stopped"
    kept = render.recovery_count, render.generation, render.uid
    return accept(RenderRequeued(render.render_id, render.run, "handed_back", message, *kept))


def report_submitted(policy: Policy, queue: RenderQueue, command: c.ReportSubmitted, now: datetime) -> Decision:
    render = current(queue, command)
    if render is None:
        return overtaken(queue, command)
    if render.status is not Status.PREPARING:
        return NOTHING  # already reported
    timeout = timeout_at(policy, render, now)
    return accept(RenderSubmitted(*run_of(render), render.uid, command.nexrender_job_id, command.found, timeout))


def timeout_at(policy: Policy, render: Render, now: datetime) -> datetime:
    # The time that earlier workers spent on the same job counts. If nexrender has finished and only the file is still
    # being copied, it does not count: a worker's crash must not lead to another render then.
    since = now if render.rendered else render.started_at or now
    return since + timedelta(seconds=policy.render_timeout_s)


def report_progress(queue: RenderQueue, command: c.ReportProgress, now: datetime) -> Decision:
    render = current(queue, command)
    if render is None:
        return overtaken(queue, command, record=False)
    progress = min(100, max(render.progress, command.progress))
    if command.stage == "encoding" and render.status is Status.RENDERING:
        return accept(EncodingStarted(*run_of(render), progress))
    if render.status not in (Status.RENDERING, Status.ENCODING):
        return NOTHING
    regained = render.retry_due is not None
    if regained or progress // PROGRESS_STEP > render.progress // PROGRESS_STEP:
        return accept(RenderProgressed(*run_of(render), progress))
    return NOTHING


def report_rendered(queue: RenderQueue, command: c.ReportRendered, now: datetime) -> Decision:
    render = current(queue, command)
    if render is None:
        return overtaken(queue, command)
    if render.status is Status.UPLOADING:
        return NOTHING
    return accept(UploadStarted(*run_of(render)))


def report_unmapped(queue: RenderQueue, command: c.ReportUnmapped, now: datetime) -> Decision:
    render = current(queue, command)
    if render is None:
        return overtaken(queue, command)
    return accept(FieldsUnmapped(*run_of(render), listed(command.fields))) if command.fields else NOTHING


def report_completed(queue: RenderQueue, command: c.ReportCompleted, now: datetime) -> Decision:
    render = current(queue, command)
    if render is None:
        known = queue.renders.get(command.render_id)
        if known is not None and (known.run, known.sha256) == (command.run, command.sha256):
            return NOTHING  # already reported; the answer was lost
        return overtaken(queue, command)
    done = completed(
        render,
        now,
        output_file_path=command.output_file_path,
        size_bytes=command.size_bytes,
        sha256=command.sha256,
        codec=command.codec,
        width=command.width,
        height=command.height,
    )
    return accept(done, *alerts_over(queue, render, "completed"))


def completed(
    render: Render,
    now: datetime,
    *,
    output_file_path: str,
    size_bytes: int,
    sha256: str,
    codec: str = "",
    width: int = 0,
    height: int = 0,
) -> RenderCompleted:
    return RenderCompleted(
        *run_of(render),
        output_file_path=output_file_path,
        size_bytes=size_bytes,
        sha256=sha256,
        duration_seconds=(now - (render.started_at or now)).total_seconds(),
        codec=codec,
        width=width,
        height=height,
    )


def overtaken(queue: RenderQueue, report: c.Report, *, record: bool = True) -> Decision:
    """Refuse a report of a worker that no longer holds the render. `record`: whether to record the refusal; not for
    reports that come every few seconds."""
    render = queue.renders.get(report.render_id)
    if render is None:
        known = 0 < report.render_id <= queue.last_id
        message = f"Render {report.render_id} has ended" if known else f"There is no render {report.render_id}"
        code = Code.STALE_ATTEMPT if known else Code.NOT_FOUND
        return Decision(rejection=Rejection(code, message, {"render_id": report.render_id}))
    kind = type(report).__name__
    refused = StaleRunRefused(render.render_id, report.run, report.worker_id, kind, render.run, render.status)
    rejection = stale_rejection(refused)
    return refuse_recording(rejection, refused) if record else Decision(rejection=rejection)


def stale_rejection(event: StaleRunRefused) -> Rejection:
    return Rejection(
        Code.STALE_ATTEMPT,
        f"Run {event.run} of render {event.render_id} is over: it is {event.status}, at run {event.current_run}",
        {
            "render_id": event.render_id,
            "run": event.run,
            "current_run": event.current_run,
            "status": event.status,
        },
    )


def run_of(render: Render) -> tuple[int, int, str]:
    assert render.worker_id is not None
    return render.render_id, render.run, render.worker_id
