"""Alerts of the render queue: which fault raises which alert, and what resolves it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from drover.domain.alerts import raise_alert, resolve_alert
from drover.domain.event import Event
from drover.domain.render.policy import ALERT_LIFETIME, NO_WORKER_AFTER, RECOVERIES_QUIET, RULES, Fault, Rule
from drover.domain.render.state import Render, RenderQueue

RECOVERING: Final = "render_recovering"
STOP_FAILED: Final = "render_not_stopped"
NO_WORKER: Final = "no_render_worker"
WORKERS: Final = "workers"
"""Subject of the alert: all workers."""
NO_WORKER_KEY: Final = f"{NO_WORKER}:{WORKERS}"
"""The key of that alert among the open alerts."""


def alert_of_fault(queue: RenderQueue, render: Render, rule: Rule, message: str, now: datetime) -> list[Event]:
    subject = {"render": str(render.render_id), "composition": render.composition_id}.get(rule.about, rule.about)
    text = f"Render {render.render_id} ({render.composition}) failed: {message}"
    until = now + ALERT_LIFETIME
    return raise_alert(queue.alerts, rule.alert, subject, text, now, until=until, render_id=render.render_id)


def alert_of_recovery(queue: RenderQueue, render: Render, now: datetime) -> list[Event]:
    """The render lost its worker again: lease expired, released by an operator, or resumed after a crash."""
    count = render.recovery_count + render.resumes + 1
    if count <= RECOVERIES_QUIET:
        return []
    text = f"Render {render.render_id} ({render.composition}) has lost its worker {count} times"
    return raise_alert(queue.alerts, RECOVERING, str(render.render_id), text, now, render_id=render.render_id)


def alert_of_workers(queue: RenderQueue, now: datetime) -> list[Event]:
    """Raise the alert if no worker was heard from in time; resolve it if nothing waits any more."""
    first = queue.pending.first()
    if first is None:
        return resolve_alert(queue.alerts, NO_WORKER, WORKERS, "nothing waits")
    count = len(queue.pending.due)
    who = "1 render waits" if count == 1 else f"{count} renders wait"
    minutes = NO_WORKER_AFTER.total_seconds() / 60
    text = f"{who}, and no render worker has been heard of for {minutes:g} minutes"
    return raise_alert(queue.alerts, NO_WORKER, WORKERS, text, now, pending=count, render_id=int(first[1]))


def worker_heard(queue: RenderQueue, reason: str) -> list[Event]:
    return resolve_alert(queue.alerts, NO_WORKER, WORKERS, reason)


def alerts_over(queue: RenderQueue, render: Render, reason: str, *, proven: bool = True) -> list[Event]:
    """Resolve the alerts of a render. `proven`: it completed, so template, mapping, nexrender and NAS work."""
    if not queue.alerts:
        return []
    subjects = {"render": str(render.render_id), "composition": render.composition_id}
    events = resolve_alert(queue.alerts, RECOVERING, str(render.render_id), reason)
    for kind, about in _OF_FAULTS:
        if proven or about == "render":
            events += resolve_alert(queue.alerts, kind, subjects.get(about, about), reason)
    return events


NEXRENDER_DOWN_RULE: Final = Rule(alert="nexrender_down", about="nexrender")
"""Only kind and subject are used here; the retry values, which an operator can set, do not matter."""

_OF_FAULTS: Final = [*dict.fromkeys((rule.alert, rule.about) for rule in (*RULES.values(), NEXRENDER_DOWN_RULE))]
"""Kinds of alerts with their subjects, each once: several faults share one."""

assert {*RULES} | {Fault.NEXRENDER_DOWN} == {*Fault}
