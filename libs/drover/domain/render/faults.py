"""Decides what follows from a fault: retry the step, submit a new nexrender job, or fail. The table of faults is in
`policy`."""

from __future__ import annotations

from datetime import datetime

from drover.domain.alerts import resolve_alert
from drover.domain.decider import Decision, accept
from drover.domain.event import Event
from drover.domain.render.alerts import RECOVERING, alert_of_fault
from drover.domain.render.commands import ReportFault
from drover.domain.render.events import RenderFailed, RetryScheduled
from drover.domain.render.policy import Again, Fault, Policy
from drover.domain.render.requests import run_again, stop_of
from drover.domain.render.state import Render, RenderQueue
from drover.domain.render.texts import shown
from drover.domain.render.work import current, overtaken


def report_fault(policy: Policy, queue: RenderQueue, command: ReportFault, now: datetime) -> Decision:
    render = current(queue, command)
    if render is None:
        return overtaken(queue, command)
    return accept(*after(policy, queue, render, command.fault, shown(command.message), now))


def after(policy: Policy, queue: RenderQueue, render: Render, fault: Fault, message: str, now: datetime) -> list[Event]:
    rule = policy.rule(fault)
    number = render.retries.get(fault, 0) + 1
    if number > rule.retries:
        failed = RenderFailed(render.render_id, render.run, fault, message, stop_of(render))
        recovered = resolve_alert(queue, RECOVERING, str(render.render_id), "failed")
        return [failed, *recovered, *alert_of_fault(queue, render, rule, message, now)]
    if rule.again is Again.RENDER:
        return [run_again(render, fault, message, now, stop=stop_of(render))]
    assert render.worker_id is not None
    due_at = now + rule.delay(number)
    return [
        RetryScheduled(
            render_id=render.render_id,
            run=render.run,
            worker_id=render.worker_id,
            fault=fault,
            number=number,
            due_at=due_at,
            message=message,
        )
    ]
