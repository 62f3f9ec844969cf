"""Explains a render's status: its turn, its worker, its faults. Pure: it gets rows and the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from drover.api.reads.why.explanation import OpenAlert
from drover.domain.fleet.why.formatting import Reason, count, due, moment, reason
from drover.domain.render.state import WORKING, Status
from drover.readmodel.render.queue import Render, RenderStage, WorkerFacts

AHEAD_MAX: Final = 1_000
"""Up to how many earlier renders are counted."""


class RenderQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about a render and what is around it."""

    render: Render
    ahead: int = 0
    """How many renders wait that were requested before this one, counted up to `AHEAD_MAX`."""
    workers: Sequence[WorkerFacts] = ()
    stage: RenderStage | None = None
    """The stage that the render is in. None: it is in none."""
    alerts: Sequence[OpenAlert] = ()
    """Open alerts about this render, its composition, nexrender, the NAS or the workers."""


def why_render(question: RenderQuestion, now: datetime) -> list[Reason]:
    render = question.render
    if render.status == Status.PENDING:
        return [*_alerts(question), *_turn(question)]
    if render.status in WORKING:
        return [*_alerts(question), *_work(question, now)]
    return [_ended(render)]


def _alerts(question: RenderQuestion) -> list[Reason]:
    return [
        reason(
            "render_alert",
            f"There is an open alert: {alert.message.rstrip('.')}.",
            kind=alert.kind,
            message=alert.message,
        )
        for alert in question.alerts
    ]


def _turn(question: RenderQuestion) -> list[Reason]:
    """Return what keeps a waiting render from its worker."""
    by_status = Counter(worker.status for worker in question.workers)
    reasons: list[Reason] = []
    if not by_status["busy"] + by_status["idle"]:
        gone = f" {count(by_status['gone'], 'worker')} sent no sign of life for 30 s." if by_status["gone"] else ""
        reasons.append(reason("no_render_worker", f"No render worker is running.{gone}", gone=by_status["gone"]))
    elif not by_status["idle"]:
        busy = by_status["busy"]
        sentence = "The only render worker is busy." if busy == 1 else f"All {busy} render workers are busy."
        reasons.append(reason("render_workers_busy", sentence, workers=busy))
    if question.ahead:
        is_more = question.ahead >= AHEAD_MAX
        many = f"{AHEAD_MAX} renders or more" if is_more else count(question.ahead, "render")
        sentence = f"{many} requested earlier {'is' if question.ahead == 1 else 'are'} ahead."
        reasons.append(reason("renders_ahead", sentence, ahead=question.ahead, is_more=is_more))
    if reasons:
        return reasons
    return [reason("render_next", "Nothing blocks it: an idle worker takes it within seconds.")]


def _work(question: RenderQuestion, now: datetime) -> list[Reason]:
    render = question.render
    reasons: list[Reason] = []
    if render.retry_due_at is not None:
        sentence = f"Its last try failed with {render.error_code}. It is tried again {due(render.retry_due_at, now)}."
        reasons.append(reason("render_retry", sentence, due_at=render.retry_due_at, error_code=render.error_code))
    status = next((one.status for one in question.workers if one.worker_id == render.worker_id), None)
    if status == "gone":
        sentence = (
            f"Its worker {render.worker_id} sends no sign of life. Another worker takes it when the lease ends"
            f"{f', {due(render.lock_expires_at, now)}' if render.lock_expires_at else ''}."
        )
        reasons.append(reason("render_worker_gone", sentence, worker_id=render.worker_id, until=render.lock_expires_at))
    stage = question.stage
    if stage is not None and stage.verdict == "above":
        took, usual = round(stage.seconds), round(stage.seconds_max)
        sentence = f"{stage.stage.capitalize()} takes longer than usual: {took} s so far, usually at most {usual} s."
        reasons.append(reason("render_slow", sentence, stage=stage.stage, seconds=took, usual=usual))
    sentence = (
        f"Worker {render.worker_id} has been {render.status} it since {moment(render.stage_since)}: "
        f"{render.progress} %."
    )
    reasons.append(
        reason(
            "render_working",
            sentence,
            worker_id=render.worker_id,
            stage=str(render.status),
            since=render.stage_since,
            progress_pct=render.progress,
        )
    )
    return reasons


def _ended(render: Render) -> Reason:
    at = render.completed_at or render.updated_at
    if render.status == Status.COMPLETED:
        return reason("render_completed", f"It completed at {moment(at)}.", ended_at=at)
    if render.status == Status.CANCELLED:
        return reason("render_cancelled", f"It was cancelled at {moment(at)}.", ended_at=at)
    said = f": {render.error_message.rstrip('.')}" if render.error_message else ""
    sentence = f"It failed with {render.error_code or 'an unknown error'} at {moment(at)}{said}."
    return reason("render_failed", sentence, ended_at=at, error_code=render.error_code, message=render.error_message)
