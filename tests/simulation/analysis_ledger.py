"""The books of analyses, kept from events alone: every charge and refund once, every end once, nothing left over."""

from collections import Counter
from datetime import datetime, timedelta

from drover.domain.analysis import events as e


class Books:
    """Follows the log, one command after the other. Knows nothing of the decider's state."""

    def __init__(self) -> None:
        self.initial: dict[str, int] = {}
        self.granted: Counter[str] = Counter()
        self.adjusted: Counter[str] = Counter()
        """By user: what callers who write balances added or took."""
        self.owner: dict[str, str] = {}
        """Test to its user."""
        self.charges: dict[str, str] = {}
        """Test to who paid for it; not those that their callers charge."""
        self.refunds: dict[str, str] = {}
        self.started: dict[str, datetime] = {}
        self.ended: dict[str, str] = {}
        self.tier: dict[str, str] = {}
        self.late: Counter[str] = Counter()
        self.runs: dict[str, e.CleanupRunStarted] = {}
        self.cleaned_by: dict[str, list[str]] = {}
        self.skipped_by: dict[str, list[str]] = {}
        self.skipped_at: dict[str, datetime] = {}
        self.finished: dict[str, e.CleanupRunFinished] = {}
        self.told: Counter[tuple[str, str]] = Counter()

    def balance(self, user: str) -> int:
        charged = sum(payer == user for payer in self.charges.values())
        refunded = sum(payer == user for payer in self.refunds.values())
        return self.initial[user] + self.granted[user] + self.adjusted[user] - charged + refunded

    def under_way(self) -> set[str]:
        return self.started.keys() - self.ended.keys()

    def see(self, *events) -> None:
        """All that one command led to: it is one commit."""
        for event in events:
            handle = getattr(self, f"_{type(event).__name__}", None)
            if handle is not None:
                handle(event)
        failed = {event.test_id for event in events if isinstance(event, e.TestFailed) and event.reason != "caller"}
        refunded = {event.test_id for event in events if isinstance(event, e.TestRefunded)}
        assert failed == refunded, "failing and refunding are one commit"
        began = {event.test_id for event in events if isinstance(event, e.TestStarted)}
        charged = {event.test_id for event in events if isinstance(event, e.TestCharged)}
        assert began == charged, "starting and charging are one commit"

    def _UserRegistered(self, event) -> None:  # noqa: N802 - named for the event
        assert event.user_id not in self.initial
        self.initial[event.user_id], self.tier[event.user_id] = event.remaining_tests, event.tier

    def _UserTierChanged(self, event) -> None:  # noqa: N802
        self.tier[event.user_id] = event.tier

    def _TestsGranted(self, event) -> None:  # noqa: N802
        self.granted[event.user_id] += event.tests
        assert event.remaining_tests == self.balance(event.user_id)

    def _TestsAdjusted(self, event) -> None:  # noqa: N802
        self.adjusted[event.user_id] += event.tests
        assert event.tests != 0
        assert event.remaining_tests == self.balance(event.user_id) >= 0

    def _TestStarted(self, event) -> None:  # noqa: N802
        self._begins(event, event.at)

    def _TestRecorded(self, event) -> None:  # noqa: N802
        self._begins(event, event.created_at)

    def _begins(self, event, started_at: datetime) -> None:
        assert event.test_id not in self.started
        assert started_at <= event.at
        self.started[event.test_id], self.owner[event.test_id] = started_at, event.user_id

    def _TestCharged(self, event) -> None:  # noqa: N802
        assert event.test_id not in self.charges, "charged twice"
        self.charges[event.test_id] = event.user_id
        assert event.remaining_tests == self.balance(event.user_id) >= 0

    def _TestCompleted(self, event) -> None:  # noqa: N802
        self._ends(event, "completed")

    def _TestFailed(self, event) -> None:  # noqa: N802
        self._ends(event, "failed")
        if event.run_id is not None:
            assert event.reason == "timeout"
            self.cleaned_by[event.run_id].append(event.test_id)

    def _ends(self, event, status: str) -> None:
        assert event.test_id in self.under_way(), "ended twice, or never begun"
        assert self.owner[event.test_id] == event.user_id
        self.ended[event.test_id] = status

    def _TestRefunded(self, event) -> None:  # noqa: N802
        assert event.test_id not in self.refunds, "given back twice"
        assert self.owner[event.test_id] == event.user_id, "given to somebody else"
        assert self.ended[event.test_id] == "failed"
        self.refunds[event.test_id] = event.user_id
        assert event.remaining_tests == self.balance(event.user_id)

    def _LateReportRefused(self, event) -> None:  # noqa: N802
        self.late[event.test_id] += 1
        assert self.late[event.test_id] == 1, "a late report is on record once"
        assert event.reported != event.status == self.ended[event.test_id]
        assert event.refunded is (event.test_id in self.refunds)

    def _TestSkipped(self, event) -> None:  # noqa: N802
        assert event.test_id in self.under_way()
        if event.run_id is not None:
            self.skipped_by[event.run_id].append(event.test_id)
            self.skipped_at[event.test_id] = event.at

    def _CleanupRunStarted(self, event) -> None:  # noqa: N802
        assert self.runs.keys() == self.finished.keys(), "two cleanups at once"
        self.runs[event.run_id] = event
        self.cleaned_by[event.run_id], self.skipped_by[event.run_id] = [], []

    def _UserNotificationRequested(self, event) -> None:  # noqa: N802
        self.told[event.run_id, event.user_id] += 1
        assert self.told[event.run_id, event.user_id] == 1
        assert event.tests == sum(self.refunds[test] == event.user_id for test in self.cleaned_by[event.run_id])

    def _CleanupRunFinished(self, event) -> None:  # noqa: N802
        run, cleaned, skipped = (of[event.run_id] for of in (self.runs, self.cleaned_by, self.skipped_by))
        found = {*cleaned, *skipped}
        assert len(found) == len(cleaned) + len(skipped), "one run came to a test twice"
        assert (event.cleaned, event.skipped) == (len(cleaned), len(skipped))
        users = {self.refunds[test] for test in cleaned}
        assert event.users == len(users)
        assert {user for run_id, user in self.told if run_id == event.run_id} == (users if run.notify else set())
        self.finished[event.run_id] = event
        for test in self.under_way() - found:
            if self.skipped_at.get(test, run.at - timedelta(1)) >= run.at:
                continue  # at this very moment, by the run before
            tier = self.tier[self.owner[test]]
            assert self.started[test] >= run.tiers_started_before.get(tier, run.started_before), "stalled and not found"
