"""The cleanup of stalled tests: it finds them by an index, one by one, and fails or skips each.

One decision handles as many tests as fit into it; ticks of the clock handle the rest. At most one cleanup runs at a
time. A request during a cleanup gets the id of the running one, so no test is handled twice.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from drover.domain.alerts import raise_alert, resolve_alert
from drover.domain.analysis.alerts import CLEANUP, CLEANUP_FAILED
from drover.domain.analysis.commands import Cleanup, GetCleanupRun, ReportCleanupFailed
from drover.domain.analysis.events import CleanupRunFinished, CleanupRunStarted, UserNotificationRequested
from drover.domain.analysis.ledger import time_out
from drover.domain.analysis.policy import FOLLOW_UP_EVENTS_MAX, NOTICES_MAX, REASON_BYTES_MAX, USERS_PER_ANSWER_MAX
from drover.domain.analysis.state import Analyses, Run, Underway
from drover.domain.decider import Decision, accept, answer, reject
from drover.domain.errors import Code
from drover.domain.event import Event
from drover.domain.follow_up import Step, take_steps
from drover.domain.ids import derived_uuid
from drover.domain.texts import cut


def cleanup(analyses: Analyses, command: Cleanup, now: datetime) -> Decision:
    if analyses.run is not None:
        return answer(asked_for(analyses.run.run_id, joined=True))
    if command.run_id in analyses.runs:
        return answer(asked_for(command.run_id, joined=True))
    scheduled = command.scheduled_for
    if scheduled is not None and analyses.cron_at is not None and scheduled <= analyses.cron_at:
        return answer(asked_for(analyses.cron_run, joined=True))  # another instance has already started this cron run
    started = CleanupRunStarted(
        command.run_id,
        command.trigger,
        scheduled,
        now - timedelta(seconds=command.timeout_s),
        {tier: now - timedelta(seconds=timeout_s) for tier, timeout_s in command.tier_timeouts_s.items()},
        command.notify,
    )
    return accept(started, then=follow_up())


def asked_for(run_id: str | None, *, joined: bool) -> dict[str, object]:
    """Answer a request for a cleanup with the id of its run. `joined`: the request started no new run, because the run
    was already running or had already ended."""
    return {"run_id": run_id, "joined": joined}


def follow_up(*steps: Step[Analyses]) -> Callable[[Analyses, datetime], Decision]:
    """Make a function for `Decision.then` that continues a decision: it takes these steps first, then the next steps of
    the running cleanup."""
    return take_steps((*steps, clean_on), events_max=FOLLOW_UP_EVENTS_MAX)


def clean_on(analyses: Analyses, now: datetime, events_max: int) -> list[Event]:
    """Take the next step of the running cleanup: handle one test, notify users, or end the cleanup."""
    run = analyses.run
    if run is None:
        return []
    if (test := _next_stalled(analyses, run)) is not None:
        return time_out(analyses, test, run.run_id)
    if run.notify and run.notified < len(run.users):
        return _notices(run, min(NOTICES_MAX, events_max))
    return _finish(analyses, run, now)


def _next_stalled(analyses: Analyses, run: Run) -> Underway | None:
    """Find the next stalled test for this cleanup. Tests that an earlier cleanup skipped come first; a test that this
    cleanup skips is left to the next one."""
    first = analyses.blocked.first()
    if first is not None and first[0] < run.started_at:
        return analyses.tests[first[1]]
    for tier, waiting in analyses.waiting.items():
        first = waiting.first()
        if first is not None and first[0] < run.stalled_before(tier):
            return analyses.tests[first[1]]
    return None


def _notices(run: Run, notices_max: int) -> list[Event]:
    return [
        UserNotificationRequested(derived_uuid(run.run_id, user_id), user_id, run.run_id, run.tests_of[user_id])
        for user_id in run.users[run.notified : run.notified + notices_max]
    ]


def _finish(analyses: Analyses, run: Run, now: datetime) -> list[Event]:
    duration_ms = (now - run.started_at) // timedelta(milliseconds=1)
    finished = CleanupRunFinished(run.run_id, run.cleaned, run.skipped, len(run.users), duration_ms)
    if run.skipped:
        message = f"Failed to cleanup {run.skipped} stalled tests: they cannot be refunded now"
        return [finished, *_alarm(analyses, message, now, run_id=run.run_id, skipped=run.skipped)]
    if analyses.blocked.first() is not None:
        return [finished]  # tests that an earlier run skipped still wait for a refund, so the alert stays
    return [finished, *resolve_alert(analyses, CLEANUP_FAILED, CLEANUP, "a clean run")]


def _alarm(analyses: Analyses, message: str, now: datetime, **details: Any) -> list[Event]:
    return raise_alert(analyses, CLEANUP_FAILED, CLEANUP, message, now, **details)


def report_cleanup_failed(analyses: Analyses, command: ReportCleanupFailed, now: datetime) -> Decision:
    reason = cut(command.reason, REASON_BYTES_MAX)
    return accept(*_alarm(analyses, f"Failed to cleanup tests - {reason}", now))


def get_cleanup_run(analyses: Analyses, command: GetCleanupRun, now: datetime) -> Decision:
    run = analyses.run
    if run is None or run.run_id != command.run_id:
        run = analyses.runs.get(command.run_id)
    if run is None:
        return reject(Code.NOT_FOUND, "Cleanup not found, or too old", run_id=command.run_id)
    finished = run.duration_ms is not None
    # Callers poll until the run has ended: do not repeat the list of users in every answer.
    users = run.users[command.users_from : command.users_from + USERS_PER_ANSWER_MAX] if finished else []
    return answer(
        {
            "run_id": run.run_id,
            "finished": finished,
            "cleaned": run.cleaned,
            "skipped": run.skipped,
            "duration_ms": run.duration_ms,
            "users_count": len(run.users),
            "users": users,
        }
    )
