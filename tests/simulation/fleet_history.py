"""What must hold of the fleet's events, whatever led to them: attempts begin and end once, retries are due on time."""

from datetime import datetime, timedelta

from drover.domain.fleet import events as e

ENDS = (
    e.AttemptSucceeded,
    e.AttemptFailed,
    e.AttemptTimedOut,
    e.AttemptRolledBack,
    e.AttemptCancelled,
)


class History:
    """Follows the events of attempts, one by one."""

    def __init__(self, late_max: timedelta = timedelta(0)) -> None:
        self._late_max = late_max
        """How late a retry may be: with a real clock, and with nobody in charge for some seconds."""
        self.open: dict[tuple[str, int], str] = {}
        """Attempts (assignment, run) under way, and how far: created, sent, started."""
        self.ended: set[tuple[str, int]] = set()
        self.final: set[str] = set()
        self.retry_due: dict[str, datetime] = {}
        self.latest_run: dict[str, int] = {}
        self.early: tuple[str, int] | None = None
        """A retry that came before it was due: its agent began by itself, so that it is sent and started at once."""

    def see(self, event) -> None:
        if self.early is not None:
            assert (event.assignment_id, event.run) == self.early, "only an agent begins a retry early"
            self.early = self.early if isinstance(event, e.AttemptSent) else None
        if isinstance(event, e.AttemptCreated):
            self._created(event)
        elif isinstance(event, e.AttemptSent):
            self._moves(event, "created", "sent")
        elif isinstance(event, e.AttemptStarted):
            self._moves(event, "sent", "started")
        elif isinstance(event, e.AttemptProgressed | e.AttemptErrorNoted):
            self._moves(event, "started", "started")
        elif isinstance(event, ENDS):
            self._ended(event)
        elif isinstance(event, e.RetryScheduled):
            assert (event.assignment_id, event.run) in self.ended
            if event.due is not None:
                self.retry_due[event.assignment_id] = event.due
        elif isinstance(event, (e.AssignmentCancelled, e.AttemptFailedFinal)):
            self._final(event)
        elif isinstance(event, e.AssignmentParked):
            self.retry_due.pop(event.assignment_id, None)
        elif isinstance(event, e.AssignmentReopened):
            self.final.discard(event.assignment_id)

    def _created(self, event: e.AttemptCreated) -> None:
        key = (event.assignment_id, event.run)
        assert key not in self.open and key not in self.ended, "an attempt was granted twice"
        assert event.run == self.latest_run.get(event.assignment_id, 0) + 1, "runs grow one by one"
        assert 1 <= event.attempt <= 3, "an attempt beyond the third"
        assert event.assignment_id not in self.final, "an ended assignment got an attempt"
        assert not [1 for a, _ in self.open if a == event.assignment_id], "two attempts of one assignment"
        due = self.retry_due.pop(event.assignment_id, None)
        assert due is None or event.at <= due + self._late_max, "a retry came later than it was due"
        if due is not None and event.at < due:
            self.early = key
        self.latest_run[event.assignment_id] = event.run
        self.open[key] = "created"

    def _moves(self, event, before: str, after: str) -> None:
        key = (event.assignment_id, event.run)
        assert self.open.get(key) == before, (type(event).__name__, self.open.get(key))
        self.open[key] = after

    def _ended(self, event) -> None:
        key = (event.assignment_id, event.run)
        how_far = self.open.pop(key, None)
        assert how_far is not None, f"{type(event).__name__} of an attempt that is not under way"
        assert (how_far == "started") is not isinstance(event, e.AttemptCancelled), (event, how_far)
        self.ended.add(key)

    def _final(self, event) -> None:
        assert event.assignment_id not in self.final, "an assignment ended twice"
        assert not [1 for a, _ in self.open if a == event.assignment_id], "it ended with an attempt under way"
        self.retry_due.pop(event.assignment_id, None)
        self.final.add(event.assignment_id)
