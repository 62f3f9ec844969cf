"""Decides the commands of external workers: programs of the users that claim and report by writing to the table
`render_queue`.

External workers do not know runs, so a report counts for the current run, unless it names a worker that does not hold
the render. They retry by themselves, so a failure that they report is final. Their jobs at nexrender are their own: the
next worker starts a new job.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from drover.domain.decider import NOTHING, Decision, accept, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.render.alerts import alert_of_recovery, alerts_over, worker_heard
from drover.domain.render.commands import ClaimRender, ReportWork
from drover.domain.render.events import (
    EncodingStarted,
    LeaseRenewed,
    RenderClaimed,
    RenderProgressed,
    RenderSubmitted,
    UploadStarted,
)
from drover.domain.render.faults import after
from drover.domain.render.fence import moved_on
from drover.domain.render.policy import RENEWALS_PER_LEASE, Fault, Policy
from drover.domain.render.requests import ended, run_again, stop_of
from drover.domain.render.state import ENDED, Render, RenderQueue, Status
from drover.domain.render.texts import shown
from drover.domain.render.work import completed, run_of, timeout_at

_REPEATS = {"completed": Status.COMPLETED, "failed": Status.FAILED}


def claim_render(policy: Policy, queue: RenderQueue, command: ClaimRender, now: datetime) -> Decision:
    render = queue.renders.get(command.render_id)
    if (refusal := moved_on(render, command.only_if)) is not None:
        return refusal
    if render is None or render.status in ENDED:
        return ended(queue, command.render_id, render, "be claimed")
    if render.status is Status.PENDING:
        return _claim(policy, queue, render, command, now)
    if not _holds(render, command.worker_id):
        return _not_held(render)
    if render.status is Status.PREPARING:
        return accept(*_renewal(policy, queue, render, command.lease_until, now))
    return accept(
        _claimed(policy, render, render.worker_id, command.lease_until, now, resumed=True),
        *alert_of_recovery(queue, render, now),
        *worker_heard(queue, "claimed"),
    )


def _claim(policy: Policy, queue: RenderQueue, render: Render, command: ClaimRender, now: datetime) -> Decision:
    if command.worker_id is None:
        return reject(Code.VALIDATION_ERROR, "A claim needs the id of its worker", field="worker_id")
    events: list[Event] = []
    if render.touched:  # an external worker cannot take over the nexrender job of one of our workers
        message = f"Worker {command.worker_id} starts a job of its own"
        events.append(run_again(render, "superseded", message, now, stop=stop_of(render)))
    events.append(_claimed(policy, render, command.worker_id, command.lease_until, now, resumed=False))
    return accept(*events, *worker_heard(queue, "claimed"))


def _claimed(
    policy: Policy, render: Render, worker_id: str | None, lease_until: datetime | None, now: datetime, *, resumed: bool
) -> RenderClaimed:
    assert worker_id is not None
    until = _lease_until(policy, lease_until, now)
    return RenderClaimed(render.render_id, render.run + 1, worker_id, until, resumed, external=True)


def report_work(policy: Policy, queue: RenderQueue, command: ReportWork, now: datetime) -> Decision:
    render = queue.renders.get(command.render_id)
    if (refusal := moved_on(render, command.only_if)) is not None:
        return refusal
    if render is None or render.status in ENDED:
        if render is not None and render.external and _REPEATS.get(command.status or "") is render.status:
            return NOTHING  # already reported
        return ended(queue, command.render_id, render, "be reported on")
    if not _holds(render, command.worker_id):
        return _not_held(render)
    return accept(*_reported(policy, queue, render, command, now))


def _reported(
    policy: Policy, queue: RenderQueue, render: Render, command: ReportWork, now: datetime
) -> Iterator[Event]:
    """Make the events of one report, in the order of a render's stages. Skipped stages get no events, except for the
    submission to nexrender."""
    status = render.status
    progress = render.progress if command.progress is None else min(100, max(0, command.progress))
    if _is_submission(render, command):
        job_id = command.nexrender_job_id or render.nexrender_job_id or ""
        yield RenderSubmitted(*run_of(render), render.uid, job_id, False, timeout_at(policy, render, now))
        status = Status.RENDERING
    if command.status == "failed":
        message = shown(command.message or "Its worker reports a failure")
        yield from after(policy, queue, render, Fault.WORKER_FAILED, message, now)
        return
    if command.status == "completed":
        yield completed(
            render,
            now,
            output_file_path=command.output_file_path or "",
            size_bytes=command.size_bytes or 0,
            sha256=command.sha256 or "",
        )
        yield from alerts_over(queue, render, "completed")
        return
    if command.status == "encoding" and status is Status.RENDERING:
        yield EncodingStarted(*run_of(render), progress)
    elif command.status == "uploading":
        if status is not Status.UPLOADING:
            yield UploadStarted(*run_of(render))
    elif progress != render.progress:
        yield RenderProgressed(*run_of(render), progress)
    yield from _renewal(policy, queue, render, command.lease_until, now)


def _is_submission(render: Render, command: ReportWork) -> bool:
    """Whether the report means a new job at nexrender: the first of the run, or one with another id."""
    if command.nexrender_job_id is not None:
        return command.nexrender_job_id != render.nexrender_job_id
    return render.status is Status.PREPARING and command.status in ("rendering", "encoding", "uploading", "completed")


def _holds(render: Render, worker_id: str | None) -> bool:
    """Whether an external worker holds the render and, if the report names a worker, whether it is that one."""
    return render.external and render.worker_id is not None and worker_id in (None, render.worker_id)


def _not_held(render: Render) -> Decision:
    holder = "no worker holds it" if render.worker_id is None else f"worker {render.worker_id} holds it"
    return reject(
        Code.CONFLICT,
        f"Render {render.render_id} is {render.status} and {holder}; claim it first",
        render_id=render.render_id,
        status=render.status,
        worker_id=render.worker_id,
    )


def _renewal(
    policy: Policy, queue: RenderQueue, render: Render, lease_until: datetime | None, now: datetime
) -> Iterator[Event]:
    """Renew the lease if the worker wrote a new end. Any other report renews it for the same length as before, but only
    as often as our workers renew theirs."""
    assert render.leased_at is not None
    assert render.lease_until is not None
    length = render.lease_until - render.leased_at
    if lease_until is None and now - render.leased_at < length / RENEWALS_PER_LEASE:
        return
    until = _lease_until(policy, lease_until or now + length, now)
    if until != render.lease_until:
        yield LeaseRenewed(*run_of(render), until)
        yield from worker_heard(queue, "renewed")


def _lease_until(policy: Policy, wanted: datetime | None, now: datetime) -> datetime:
    """Return the end of a lease: the time that the worker wrote. If it wrote none, or one that has passed or is too far
    ahead, return the latest end allowed."""
    longest = now + timedelta(seconds=policy.lease_s)
    return wanted if wanted is not None and now < wanted < longest else longest
