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
"""The subject of the alert that no worker is running: a fixed word for all workers."""
NO_WORKER_KEY: Final = f"{NO_WORKER}:{WORKERS}"
"""The key of the alert that no worker is running, among the open alerts."""


def alert_of_fault(queue: RenderQueue, render: Render, rule: Rule, message: str, now: datetime) -> list[Event]:
    subject = {"render": str(render.render_id), "composition": render.composition_id}.get(rule.about, rule.about)
    text = f"Render {render.render_id} ({render.composition}) failed: {message}"
    until = now + ALERT_LIFETIME
    return raise_alert(queue, rule.alert, subject, text, now, until=until, render_id=render.render_id)


def alert_of_recovery(queue: RenderQueue, render: Render, now: datetime) -> list[Event]:
    """Raise an alert if a render has lost its worker too often: its lease expired, an operator released it, or the
    worker crashed."""
    count = render.recovery_count + render.resumes + 1
    if count <= RECOVERIES_QUIET:
        return []
    text = f"Render {render.render_id} ({render.composition}) has lost its worker {count} times"
    return raise_alert(queue, RECOVERING, str(render.render_id), text, now, render_id=render.render_id)


def alert_of_workers(queue: RenderQueue, now: datetime) -> list[Event]:
    """Raise the alert that no worker is running if no sign of one came in time. Resolve it if no render waits any
    more."""
    first = queue.pending.first()
    if first is None:
        return resolve_alert(queue, NO_WORKER, WORKERS, "nothing waits")
    count = len(queue.pending.due)
    who = "1 render waits" if count == 1 else f"{count} renders wait"
    minutes = NO_WORKER_AFTER.total_seconds() / 60
    text = f"{who}, and no render worker has been heard of for {minutes:g} minutes"
    return raise_alert(queue, NO_WORKER, WORKERS, text, now, pending=count, render_id=int(first[1]))


def worker_heard(queue: RenderQueue, reason: str) -> list[Event]:
    return resolve_alert(queue, NO_WORKER, WORKERS, reason)


def alerts_over(queue: RenderQueue, render: Render, reason: str, *, proven: bool = True) -> list[Event]:
    """Resolve the alerts of a render that ends or is run again. `proven`: whether it completed, which shows that
    template, mapping, nexrender and NAS work. Then the alerts about these are resolved, too."""
    if not queue.alerts:
        return []
    subjects = {"render": str(render.render_id), "composition": render.composition_id}
    events = resolve_alert(queue, RECOVERING, str(render.render_id), reason)
    for kind, about in _OF_FAULTS:
        if proven or about == "render":
            events += resolve_alert(queue, kind, subjects.get(about, about), reason)
    return events


NEXRENDER_DOWN_RULE: Final = Rule(alert="nexrender_down", about="nexrender")
"""A rule with the alert of `NEXRENDER_DOWN`. Only the alert's kind and subject are used here; `Policy` has the retries,
which operators can set."""

_OF_FAULTS: Final = [*dict.fromkeys((rule.alert, rule.about) for rule in (*RULES.values(), NEXRENDER_DOWN_RULE))]
"""The kind and the subject of every alert that a fault can raise. Several faults share an alert, so each is listed
once."""

assert {*RULES} | {Fault.NEXRENDER_DOWN} == {*Fault}
