"""What must hold of the render queue's events, whatever led to them. Its books are kept from the events alone."""

from datetime import datetime, timedelta

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.render import events as e

DAY = timedelta(hours=24)
NEXT = {
    e.RenderClaimed: ({"pending", "preparing", "rendering", "encoding", "uploading"}, "preparing"),
    e.RenderSubmitted: ({"preparing"}, "rendering"),
    e.RenderProgressed: ({"rendering", "encoding"}, None),
    e.EncodingStarted: ({"rendering"}, "encoding"),
    e.UploadStarted: ({"preparing", "rendering", "encoding"}, "uploading"),
    e.RetryScheduled: ({"preparing", "rendering", "encoding", "uploading"}, None),
    e.LeaseRenewed: ({"preparing", "rendering", "encoding", "uploading"}, None),
    e.FieldsUnmapped: ({"preparing", "rendering", "encoding", "uploading"}, None),
    e.RenderCompleted: ({"preparing", "rendering", "encoding", "uploading"}, "completed"),
}
"""In which states each may happen, and which one it leads to. What is not here is looked at one by one."""
WORKING = {"preparing", "rendering", "encoding", "uploading"}
ENDED = {"completed", "failed", "cancelled"}


class Story:
    """One render, as far as its events tell it."""

    def __init__(self, event: e.RenderRequested) -> None:
        self.status = "pending"
        self.run = 0
        self.worker: str | None = None
        self.external = False
        """Whether its present or last worker is one of the users' own."""
        self.handled = False
        """Whether a worker of ours ever had it."""
        self.uid = event.uid
        self.generation = 1
        self.recovery_count = 0
        self.progress = 0
        self.requested_at: datetime = event.at
        self.timeout_at: datetime | None = None
        self.lease_until: datetime | None = None
        self.ended_at: datetime | None = None
        self.again: dict[str, int] = {}


class History:
    def __init__(self) -> None:
        self.renders: dict[int, Story] = {}
        self.archived: set[int] = set()
        self.completed: dict[int, str] = {}
        """The uid of the job that made the file."""
        self.touched: set[str] = set()
        """Every uid that nexrender may have heard of."""
        self.uids: set[str] = set()
        self.owed: dict[str, int] = {}
        """Stops: how often each was tried."""
        self.stopped: set[str] = set()
        self.alerts: dict[str, datetime | None] = {}
        self.version = 0

    def see(self, event) -> None:
        if isinstance(event, AlertRaised):
            key = f"{event.kind}:{event.subject}"
            assert key not in self.alerts, "an alert was raised twice"
            self.alerts[key] = event.until
        elif isinstance(event, AlertResolved):
            assert f"{event.kind}:{event.subject}" in self.alerts, "an alert was resolved that was not open"
            del self.alerts[f"{event.kind}:{event.subject}"]
        elif isinstance(event, e.RenderEvent):
            self._render_event(event)
        elif hasattr(event, "version"):
            assert event.version == self.version + 1, "versions grow one by one"
            self.version = event.version

    def _render_event(self, event) -> None:
        if isinstance(event, e.RenderRequested):
            assert event.render_id == len(self.renders) + len(self.archived) + 1, "ids are in the order of requests"
            assert event.uid not in self.uids
            self.uids.add(event.uid)
            self.renders[event.render_id] = Story(event)
        elif isinstance(event, e.StopClaimed | e.RenderStopped | e.StopAbandoned):
            self._stop_event(event)
        elif isinstance(event, e.StaleRunRefused):
            story = self.renders[event.render_id]
            theirs = (event.run, event.worker_id)
            assert (story.run, story.worker) != theirs or story.worker is None, "a report in time was refused"
            assert (event.current_run, event.status) == (story.run, story.status)
        else:
            self._step(event, self.renders[event.render_id])

    def _step(self, event, story: Story) -> None:
        assert story.status != "completed" or isinstance(event, e.RenderArchived), "a completed render never leaves"
        if isinstance(event, e.RunEvent):
            self._run_event(event, story)
        elif isinstance(event, e.RenderRequeued):
            self._requeued(event, story)
        elif isinstance(event, e.RenderFailed | e.RenderCancelled):
            assert event.run == story.run
            cancelled = isinstance(event, e.RenderCancelled)
            assert (event.stop is not None) is (story.handled if cancelled else story.uid in self.touched)
            self._owes(event.stop, story)
            self._end(story, "cancelled" if cancelled else "failed", event)
        else:
            assert isinstance(event, e.RenderArchived)
            assert story.ended_at is not None and event.at >= story.ended_at + DAY, "archived before its day was over"
            del self.renders[event.render_id]
            self.archived.add(event.render_id)

    def _run_event(self, event, story: Story) -> None:
        before, after = NEXT[type(event)]
        if story.external and isinstance(event, e.RenderSubmitted | e.RenderProgressed):
            before = WORKING  # it may start another job at nexrender at any time, and knows its progress best
        assert story.status in before, (type(event).__name__, story.status)
        if isinstance(event, e.RenderClaimed):
            self._claimed(event, story)
        else:
            assert (event.run, event.worker_id) == (story.run, story.worker), "an event of somebody else"
        if isinstance(event, e.LeaseRenewed | e.RenderClaimed):
            assert event.lease_until > event.at
            story.lease_until = event.lease_until
        if isinstance(event, e.RenderSubmitted):
            assert event.uid == story.uid
            overdue = story.timeout_at is not None and story.timeout_at <= event.at
            assert event.timeout_at > event.at or overdue, "no time was left for it"
            story.timeout_at = event.timeout_at
        if isinstance(event, e.RenderProgressed | e.EncodingStarted):
            assert 0 <= event.progress <= 100
            assert story.progress <= event.progress or story.external, "progress goes up"
            story.progress = event.progress
        if isinstance(event, e.UploadStarted):
            story.progress, story.timeout_at = 100, None
        if isinstance(event, e.RetryScheduled):
            assert event.number >= 1
            assert event.due_at > event.at
        story.status = after or story.status
        if isinstance(event, e.RenderCompleted):
            assert event.render_id not in self.completed, "completed twice"
            self.completed[event.render_id] = story.uid
            self._end(story, "completed", event)

    def _claimed(self, event: e.RenderClaimed, story: Story) -> None:
        assert event.run == story.run + 1, "runs grow one by one"
        assert event.resumed is (story.worker is not None)
        assert story.worker in (None, event.worker_id), "two workers have one render"
        story.run, story.worker, story.external = event.run, event.worker_id, event.external
        if event.external:
            assert story.uid not in self.touched, "an external worker would share a job of ours"
            return
        others = [s for s in self.renders.values() if s.worker == event.worker_id and not s.external and s is not story]
        assert not others, "a worker has two renders"
        if not event.resumed:
            older = [
                (s.requested_at, render_id)
                for render_id, s in self.renders.items()
                if s.status == "pending" and (s.requested_at, render_id) < (story.requested_at, event.render_id)
            ]
            assert not older, "an older one was passed over"
        self.touched.add(story.uid)
        story.handled = True

    def _requeued(self, event: e.RenderRequeued, story: Story) -> None:
        assert event.run == story.run
        taken = event.reason in ("lapsed", "released")
        assert event.recovery_count == story.recovery_count + taken, "a recovery is counted, and nothing else is"
        is_taken = event.reason in ("lapsed", "released", "handed_back")
        if is_taken:
            assert story.worker is not None, "taken from nobody"
            assert event.stop is None
            assert event.reason != "lapsed" or event.at >= story.lease_until, "a lease lapsed before its time"
        if is_taken and not story.external:
            assert (event.uid, event.generation) == (story.uid, story.generation)
        else:
            assert (story.status in ("failed", "cancelled")) is (event.reason == "rerun")
            assert story.status == "pending" or event.reason != "superseded"
            assert event.generation == story.generation + 1
            assert event.uid not in self.uids, "a uid was used twice"
            assert story.uid not in self.owed or event.reason == "rerun"
            self.uids.add(event.uid)
            assert (event.stop is not None) is (story.uid in self.touched and event.reason != "rerun")
            self._owes(event.stop, story)
            if not is_taken and event.reason != "superseded":
                again = story.again[event.reason] = story.again.get(event.reason, 0) + 1
                assert event.reason == "rerun" or again <= 2, "it was all done a third time"
            if event.reason == "rerun":
                story.again = {}
            story.uid, story.generation, story.progress, story.timeout_at = event.uid, event.generation, 0, None
        story.status, story.worker, story.recovery_count = "pending", None, event.recovery_count
        story.lease_until = story.ended_at = None

    def _owes(self, stop: str | None, story: Story) -> None:
        if stop is not None:
            assert stop == story.uid
            self.owed[stop] = 0

    def _end(self, story: Story, status: str, event) -> None:
        story.status, story.worker, story.lease_until, story.timeout_at = status, None, None, None
        story.ended_at = event.at

    def _stop_event(self, event) -> None:
        if isinstance(event, e.StopClaimed):
            self.owed[event.uid] += 1
            assert event.tries == self.owed[event.uid]
        else:
            assert event.uid in self.owed, "a stop ended that was not owed"
            del self.owed[event.uid]
            self.stopped.add(event.uid)

    def is_current(self, render_id: int, run: int, worker: str) -> bool:
        story = self.renders.get(render_id)
        return story is not None and (story.run, story.worker) == (run, worker) and not story.external

    def is_held_by_external(self, render_id: int, worker: str | None) -> bool:
        """Whether an external worker has it; it is this one, if the name is known."""
        story = self.renders.get(render_id)
        held = story is not None and story.external and story.status in WORKING
        return held and worker in (None, story.worker)
