"""What happens at the deadlines of the render queue: those of leases, renders, archiving, alerts and missing
workers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from drover.domain.alerts import expire_alert
from drover.domain.decider import NOTHING, Decision, Tick, accept
from drover.domain.event import Event
from drover.domain.render.alerts import alert_of_workers, alerts_over
from drover.domain.render.events import RenderArchived
from drover.domain.render.faults import after
from drover.domain.render.policy import DEADLINES_PER_TICK_MAX, Fault, Policy
from drover.domain.render.requests import LAPSED, taken_back
from drover.domain.render.state import RenderQueue


def next_deadline(queue: RenderQueue) -> datetime | None:
    first = queue.timers.first()
    return None if first is None else first[0]


def tick(policy: Policy, queue: RenderQueue, command: Tick, now: datetime) -> Decision:
    return Decision(then=_fire(policy, DEADLINES_PER_TICK_MAX))


def _fire(policy: Policy, left: int) -> Callable[[RenderQueue, datetime], Decision]:
    def fire(queue: RenderQueue, now: datetime) -> Decision:
        """Fire one deadline that has passed. The next one is looked up in the state after it."""
        first = queue.timers.first()
        if first is None or first[0] > now or not left:
            return NOTHING
        kind, _, subject = first[1].partition(":")
        return accept(*_FIRE[kind](policy, queue, subject, now), then=_fire(policy, left - 1))

    return fire


def _lease(policy: Policy, queue: RenderQueue, render_id: str, now: datetime) -> list[Event]:
    render = queue.renders[int(render_id)]
    message = f"Worker {render.worker_id} did not renew its lease in time"
    return taken_back(queue, render, LAPSED, message, now)


def _timeout(policy: Policy, queue: RenderQueue, render_id: str, now: datetime) -> list[Event]:
    render = queue.renders[int(render_id)]
    message = f"Nexrender timeout ({policy.render_timeout_s / 60:g}min exceeded)"
    return after(policy, queue, render, Fault.RENDER_TIMEOUT, message, now)


def _archive(policy: Policy, queue: RenderQueue, render_id: str, now: datetime) -> list[Event]:
    render = queue.renders[int(render_id)]
    return [RenderArchived(render.render_id), *alerts_over(queue, render, "archived", proven=False)]


def _alert(policy: Policy, queue: RenderQueue, key: str, now: datetime) -> list[Event]:
    return expire_alert(queue, key)


def _workers(policy: Policy, queue: RenderQueue, subject: str, now: datetime) -> list[Event]:
    return alert_of_workers(queue, now)


_FIRE: Final[dict[str, Callable[[Policy, RenderQueue, str, datetime], list[Event]]]] = {
    "e": _lease,
    "t": _timeout,
    "x": _archive,
    "l": _alert,
    "w": _workers,
}
