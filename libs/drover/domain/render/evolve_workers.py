"""Sets the deadline at which the alert that no worker is running is raised.

Workers leave events when they claim or renew; an idle worker that finds no work leaves none. While a render waits, an
idle worker claims it at once and a busy one renews its lease. If neither happens for `NO_WORKER_AFTER`, there are no
workers.
"""

from __future__ import annotations

from drover.domain.event import TermStarted
from drover.domain.render.alerts import NO_WORKER_KEY
from drover.domain.render.events import LeaseRenewed, QueueEvent, RenderClaimed
from drover.domain.render.policy import NO_WORKER_AFTER, RENEWALS_PER_LEASE
from drover.domain.render.state import RenderQueue
from drover.domain.render.timer_keys import WORKERS_TIMER


def watch_workers(queue: RenderQueue, event: QueueEvent) -> None:
    """Set the deadline for raising the alert or, once no render waits, for resolving it. Called after every event."""
    if isinstance(event, RenderClaimed | LeaseRenewed):
        due = event.at + (event.lease_until - event.at) / RENEWALS_PER_LEASE
        # The later one: a worker with a shorter lease must not hide one with a longer lease.
        queue.renewal_due = max(due, queue.renewal_due or due)
    elif not (queue.held or queue.lent):
        queue.renewal_due = None
    waits, is_open = bool(queue.pending.due), NO_WORKER_KEY in queue.alerts
    if waits is is_open:
        queue.timers.clear(WORKERS_TIMER)
    elif not is_open:
        _expect_worker(queue, event)
    elif WORKERS_TIMER not in queue.timers.due:
        queue.timers.set(WORKERS_TIMER, event.at)


def _expect_worker(queue: RenderQueue, event: QueueEvent) -> None:
    latest = max(event.at, queue.renewal_due or event.at) + NO_WORKER_AFTER
    before = queue.timers.due.get(WORKERS_TIMER, latest)
    # A sign of a worker restarts the timer. So does a new leader: without a leader nobody could claim.
    starts_again = isinstance(event, RenderClaimed | LeaseRenewed | TermStarted)
    queue.timers.set(WORKERS_TIMER, max(before, latest) if starts_again else min(before, latest))
