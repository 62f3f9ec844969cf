"""`evolve`: applies events of analyses to the state. It holds no rules of its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from drover.domain import alerts
from drover.domain.analysis import events as e
from drover.domain.analysis.commands import CRON
from drover.domain.analysis.policy import ARCHIVE_AFTER, PAST_TESTS_MAX, RUNS_REMEMBERED_MAX, RUNS_USERS_MAX
from drover.domain.analysis.state import Analyses, Ended, Run, TestStatus, Underway, User
from drover.domain.event import TermStarted
from drover.domain.past import KEPT_AT_LEAST
from drover.domain.rules import evolve_by
from drover.domain.timers import Timers


def _term_started(analyses: Analyses, event: TermStarted) -> None:
    """Change nothing: the state does not depend on which writer leads the partition."""


def _user_registered(analyses: Analyses, event: e.UserRegistered) -> None:
    analyses.users[event.user_id] = User(event.user_id, event.tier, event.remaining_tests, event.at)
    _count_tier(analyses, event.tier, 1)


def _user_tier_changed(analyses: Analyses, event: e.UserTierChanged) -> None:
    user = analyses.users[event.user_id]
    _count_tier(analyses, user.tier, -1)
    _count_tier(analyses, event.tier, 1)
    for test_id in user.under_way:
        if _forget(analyses, user.tier, test_id):
            _await(analyses, event.tier, test_id, analyses.tests[test_id].started_at)
    user.tier = event.tier


def _count_tier(analyses: Analyses, tier: str, by: int) -> None:
    count = analyses.tiers.get(tier, 0) + by
    if count:
        analyses.tiers[tier] = count
    else:
        del analyses.tiers[tier]


def _user_frozen(analyses: Analyses, event: e.UserFrozen) -> None:
    analyses.users[event.user_id].frozen = True


def _user_unfrozen(analyses: Analyses, event: e.UserUnfrozen) -> None:
    analyses.users[event.user_id].frozen = False


def _tests_granted(analyses: Analyses, event: e.TestsGranted) -> None:
    analyses.users[event.user_id].granted += event.tests


def _tests_adjusted(analyses: Analyses, event: e.TestsAdjusted) -> None:
    analyses.users[event.user_id].adjusted += event.tests


def _test_started(analyses: Analyses, event: e.TestStarted) -> None:
    _begin(analyses, event.test_id, event.user_id, event.at)


def _test_recorded(analyses: Analyses, event: e.TestRecorded) -> None:
    _begin(analyses, event.test_id, event.user_id, event.created_at)


def _begin(analyses: Analyses, test_id: str, user_id: str, started_at: datetime) -> None:
    user = analyses.users[user_id]
    user.under_way[test_id] = None
    analyses.tests[test_id] = Underway(test_id, user_id, started_at)
    _await(analyses, user.tier, test_id, started_at)


def _test_charged(analyses: Analyses, event: e.TestCharged) -> None:
    analyses.users[event.user_id].charged += 1


def _test_completed(analyses: Analyses, event: e.TestCompleted) -> None:
    _end(analyses, event.test_id, TestStatus.COMPLETED, event.at)


def _test_failed(analyses: Analyses, event: e.TestFailed) -> None:
    _end(analyses, event.test_id, TestStatus.FAILED, event.at)
    run = analyses.run
    if run is not None and event.run_id == run.run_id:
        run.cleaned += 1
        if event.user_id not in run.tests_of:
            run.users.append(event.user_id)
        run.tests_of[event.user_id] = run.tests_of.get(event.user_id, 0) + 1


def _end(analyses: Analyses, test_id: str, status: TestStatus, at: datetime) -> None:
    test = analyses.tests.pop(test_id)
    user = analyses.users[test.user_id]
    del user.under_way[test_id]
    _forget(analyses, user.tier, test_id)
    analyses.blocked.clear(test_id)
    analyses.ended[test_id] = Ended(test.user_id, status, refunded=False)
    analyses.timers.set(archiving(test_id), at + ARCHIVE_AFTER)
    analyses.past.add(archiving(test_id))
    analyses.past.shorten(analyses.timers, sooner=ARCHIVE_AFTER - KEPT_AT_LEAST, count_max=PAST_TESTS_MAX)


def archiving(test_id: str) -> str:
    """Make the key of the timer that archives a test."""
    return f"t:{test_id}"


def _test_refunded(analyses: Analyses, event: e.TestRefunded) -> None:
    analyses.users[event.user_id].refunded += 1
    analyses.ended[event.test_id].refunded = True


def _test_skipped(analyses: Analyses, event: e.TestSkipped) -> None:
    test = analyses.tests[event.test_id]
    test.skipped = event.reason
    run = analyses.run
    if run is not None and event.run_id == run.run_id:
        run.skipped += 1
        _forget(analyses, analyses.users[event.user_id].tier, event.test_id)
        analyses.blocked.set(event.test_id, event.at)


def _late_report_refused(analyses: Analyses, event: e.LateReportRefused) -> None:
    analyses.ended[event.test_id].late_noted = True


def _test_archived(analyses: Analyses, event: e.TestArchived) -> None:
    del analyses.ended[event.test_id]
    analyses.past.drop(archiving(event.test_id))
    analyses.timers.clear(archiving(event.test_id))


def _run_started(analyses: Analyses, event: e.CleanupRunStarted) -> None:
    analyses.run = Run(
        event.run_id, event.trigger, event.at, event.started_before, event.tiers_started_before, event.notify
    )
    if event.trigger == CRON and event.scheduled_for is not None:
        analyses.cron_at, analyses.cron_run = event.scheduled_for, event.run_id


def _run_finished(analyses: Analyses, event: e.CleanupRunFinished) -> None:
    run, analyses.run = analyses.run, None
    assert run is not None
    run.duration_ms = event.duration_ms
    runs = analyses.runs
    runs[run.run_id] = run
    users = sum(len(one.users) for one in runs.values())
    while len(runs) > RUNS_REMEMBERED_MAX or (len(runs) > 1 and users > RUNS_USERS_MAX):
        users -= len(runs.pop(next(iter(runs))).users)


def _notification_requested(analyses: Analyses, event: e.UserNotificationRequested) -> None:
    assert analyses.run is not None
    analyses.run.notified += 1


def _await(analyses: Analyses, tier: str, test_id: str, started_at: datetime) -> None:
    analyses.waiting.setdefault(tier, Timers()).set(test_id, started_at)


def _forget(analyses: Analyses, tier: str, test_id: str) -> bool:
    """Remove a test from the index of its tier, and the tier if it is then empty, because cleanups check every tier.
    Return whether the test was in the index."""
    waiting = analyses.waiting.get(tier)
    if waiting is None or test_id not in waiting.due:
        return False
    waiting.clear(test_id)
    if not waiting.due:
        del analyses.waiting[tier]
    return True


_EVOLVE: Final[dict[type, Callable[[Analyses, Any], None]]] = {
    TermStarted: _term_started,
    e.UserRegistered: _user_registered,
    e.UserTierChanged: _user_tier_changed,
    e.UserFrozen: _user_frozen,
    e.UserUnfrozen: _user_unfrozen,
    e.TestsGranted: _tests_granted,
    e.TestsAdjusted: _tests_adjusted,
    e.TestStarted: _test_started,
    e.TestRecorded: _test_recorded,
    e.TestCharged: _test_charged,
    e.TestCompleted: _test_completed,
    e.TestFailed: _test_failed,
    e.TestRefunded: _test_refunded,
    e.TestSkipped: _test_skipped,
    e.LateReportRefused: _late_report_refused,
    e.TestArchived: _test_archived,
    e.CleanupRunStarted: _run_started,
    e.CleanupRunFinished: _run_finished,
    e.UserNotificationRequested: _notification_requested,
    **alerts.EVOLVE,
}

_apply: Final = evolve_by(_EVOLVE)


def evolve(analyses: Analyses, event: e.AnalysisEvent) -> Analyses:
    analyses.use.note(event)
    return _apply(analyses, event)
