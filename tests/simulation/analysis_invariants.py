"""What must hold of the decider's state at any moment, counted anew from the plain facts and from the books."""

from drover.domain.analysis import evolution
from drover.domain.analysis.policy import RUNS_REMEMBERED_MAX
from drover.domain.analysis.state import Analyses
from tests.simulation.analysis_ledger import Books


def check(analyses: Analyses, books: Books) -> None:
    _check_balances(analyses, books)
    _check_tests(analyses, books)
    _check_indices(analyses)
    _check_runs(analyses, books)


def _check_balances(analyses: Analyses, books: Books) -> None:
    assert analyses.users.keys() == books.initial.keys()
    for user in analyses.users.values():
        assert user.remaining == books.balance(user.user_id) >= 0
        assert user.tier == books.tier[user.user_id]


def _check_tests(analyses: Analyses, books: Books) -> None:
    assert analyses.tests.keys() == books.under_way()
    assert analyses.ended.keys() <= books.ended.keys()
    for test in analyses.tests.values():
        assert test.started_at == books.started[test.test_id]
        assert test.user_id == books.owner[test.test_id]
    for test_id, ended in analyses.ended.items():
        assert ended.status == books.ended[test_id]
        assert ended.refunded is (test_id in books.refunds)
        assert ended.late_noted is (test_id in books.late)


def _check_indices(analyses: Analyses) -> None:
    tiers: dict[str, int] = {}
    for user in analyses.users.values():
        tiers[user.tier] = tiers.get(user.tier, 0) + 1
        mine = {test.test_id for test in analyses.tests.values() if test.user_id == user.user_id}
        assert set(user.under_way) == mine
    assert analyses.tiers == tiers
    blocked = set(analyses.blocked.due)
    assert blocked <= analyses.tests.keys()
    waiting: dict[str, dict[str, object]] = {}
    for test in analyses.tests.values():
        if test.test_id not in blocked:
            waiting.setdefault(analyses.users[test.user_id].tier, {})[test.test_id] = test.started_at
    assert {tier: timers.due for tier, timers in analyses.waiting.items()} == waiting
    assert {key for key in analyses.timers.due if key.startswith("t:")} == {f"t:{test}" for test in analyses.ended}
    assert analyses.past.sizes.keys() <= {f"t:{test}" for test in analyses.ended}
    assert analyses.past.size == len(analyses.past.sizes) <= evolution.PAST_TESTS_MAX
    for timers in (*analyses.waiting.values(), analyses.blocked, analyses.timers):
        first = timers.first()
        assert (first[0] if first else None) == (min(timers.due.values()) if timers.due else None)


def _check_runs(analyses: Analyses, books: Books) -> None:
    at_work = books.runs.keys() - books.finished.keys()
    assert at_work == ({analyses.run.run_id} if analyses.run else set())
    assert len(analyses.runs) == min(RUNS_REMEMBERED_MAX, len(books.finished))
    for run in analyses.runs.values():
        told = books.finished[run.run_id]
        assert (run.cleaned, run.skipped, len(run.users)) == (told.cleaned, told.skipped, told.users)
        assert run.duration_ms == told.duration_ms
        assert set(run.users) == run.tests_of.keys()
        assert sum(run.tests_of.values()) == run.cleaned
