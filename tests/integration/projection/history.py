"""A farm's life as valid events: jobs one after the other, their work on many phones at once, all endings.

Each assignment plays a story. While it does, it notes what its history and its last status ought to be, so that the
read model can be held against something other than the fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from drover.domain.event import Event
from drover.domain.fleet import events as e
from drover.domain.fleet.policy import ATTEMPT_TIMEOUT, CRASHED_MESSAGE, TIMEOUT_MESSAGE

PCS = 6
PHONES_PER_PC = 10

Commit = list[Event]
Story = Callable[["Work"], Iterator[Commit]]


class Clock:
    """When the next event is going to be."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now

    @property
    def now(self) -> datetime:
        return self._now()

    def after(self, **parts: float) -> datetime:
        return self.now + timedelta(**parts)


class Work:
    """One assignment: makes its events, and knows what to expect of them."""

    def __init__(self, clock: Clock, id: UUID, job_id: str, device_id: str, pc_id: str) -> None:
        self.clock = clock
        self.id, self.job_id, self.device_id, self.pc_id = str(id), job_id, device_id, pc_id
        self.run, self.attempt = 0, 1
        self.status = "none"
        self.timed_out = False
        self.history: list[tuple[str, int, int]] = []
        self._assigned_at = self._started_at = clock.now

    def _about(self) -> tuple[str, str, str]:
        return self.id, self.job_id, self.device_id

    def _attempt(self, type_: Any, shown: str, *fields: Any, **named: Any) -> Any:
        self.history.append((shown, self.attempt, self.run))
        return type_(*self._about(), self.run, self.attempt, *fields, **named)

    def requested(self) -> Event:
        self.status = "pending"
        return e.AssignmentRequested(*self._about())

    def reopened(self) -> Event:
        self.status = "pending"
        self.attempt += 1
        return e.AssignmentReopened(*self._about())

    def parked(self) -> Event:
        return e.AssignmentParked(*self._about(), "job_paused")

    def cancelled(self, reason: str) -> Event:
        self.status = "cancelled"
        return e.AssignmentCancelled(*self._about(), reason)

    def created(self) -> Event:
        self.run += 1
        self.status, self._assigned_at = "pending", self.clock.now
        return self._attempt(e.AttemptCreated, "CREATED", self.pc_id)

    def sent(self) -> Event:
        self.status = "claimed"
        return self._attempt(e.AttemptSent, "SENT", self.clock.now + ATTEMPT_TIMEOUT)

    def started(self) -> Event:
        self.status, self._started_at = "running", self.clock.now
        return self._attempt(e.AttemptStarted, "ACKED", 0, None, self.clock.now + ATTEMPT_TIMEOUT)

    def progressed(self, progress_pct: int, ad_playing: bool = False) -> Event:
        return e.AttemptProgressed(*self._about(), self.run, self.attempt, progress_pct, ad_playing)

    def error_noted(self) -> Event:
        return e.AttemptErrorNoted(*self._about(), self.run, self.attempt, "APP_CRASH", "it starts again")

    def succeeded(self) -> Event:
        self.status, self.timed_out = "completed", False
        fields = (self._assigned_at, self._started_at, 156, True, False, self.run % 2 == 0, None)
        return self._attempt(e.AttemptSucceeded, "SUCCEEDED", *fields)

    def failed(self, rule: str, message: str | None = None, **shown: str) -> Event:
        self.timed_out = False
        return self._attempt(e.AttemptFailed, "FAILED", rule, rule, message, True, **shown)

    def late(self) -> Event:
        self.timed_out = True
        return self._attempt(e.AttemptTimedOut, "TIMEOUT", TIMEOUT_MESSAGE, True)

    def retried(self, *, waits: bool = False) -> Event:
        event = self._attempt(e.RetryScheduled, "RETRY_SCHEDULED", None if waits else self.clock.after(seconds=5))
        self.status = "pending"
        self.attempt += 1
        return event

    def failed_final(self, rule: str, message: str | None) -> Event:
        self.status = "failed"
        return self._attempt(e.AttemptFailedFinal, "FAILED_FINAL", rule, rule, message, False)

    def rolled_back(self) -> Event:
        self.status = "pending"
        return self._attempt(e.AttemptRolledBack, "ROLLED_BACK", "silent")

    def taken_back(self, reason: str) -> Event:
        return self._attempt(e.AttemptCancelled, "CANCELLED", reason)

    def late_report(self) -> Event:
        """Of the run before this one."""
        self.history.append(("STALE_REPORT", self.attempt, self.run - 1))
        return e.StaleReportRefused(*self._about(), self.run - 1, self.attempt, "running", self.run)

    def quarantined(self, rule: str, condition: str | None = None) -> Event:
        until = None if condition else self.clock.after(minutes=30)
        return e.DeviceQuarantined(self.device_id, rule, until, condition, self.job_id)


# Stories


def _begin(work: Work) -> Iterator[Commit]:
    yield [work.created()]
    yield [work.sent()]
    yield [work.started()]


def _finish(work: Work) -> Iterator[Commit]:
    for progress_pct in range(10, 100, 30):
        yield [work.progressed(progress_pct)]
    yield [work.succeeded()]


def succeeds(work: Work) -> Iterator[Commit]:
    yield from _begin(work)
    yield from _finish(work)


def fails_once(work: Work) -> Iterator[Commit]:
    yield from _begin(work)
    yield [work.progressed(50)]
    yield [work.error_noted()]
    yield [work.failed("VIDEO_NETWORK_ERROR", "no route"), work.retried()]
    yield from succeeds(work)


def crashes_for_good(work: Work) -> Iterator[Commit]:
    for _ in range(2):
        yield from _begin(work)
        yield [work.failed("APP_CRASH"), work.retried()]
    yield from _begin(work)
    final = work.failed("APP_CRASH"), work.failed_final("APP_CRASH", CRASHED_MESSAGE)
    yield [*final, work.quarantined("APP_CRASH")]
    yield [e.DeviceReleased(work.device_id, "time")]


def is_late_once(work: Work) -> Iterator[Commit]:
    yield from _begin(work)
    yield [work.late(), work.retried()]
    yield from succeeds(work)


def is_late_for_good(work: Work) -> Iterator[Commit]:
    for _ in range(2):
        yield [work.created()]
        yield [work.sent()]
        yield [work.late(), work.retried()]
    yield from _begin(work)
    yield [work.late(), work.failed_final("TIMEOUT", TIMEOUT_MESSAGE), work.quarantined("TIMEOUT")]
    yield [e.DeviceReset(work.device_id)]
    yield [e.DeviceCameOnline(work.device_id)]


def loses_its_network(work: Work) -> Iterator[Commit]:
    yield from _begin(work)
    yield [work.rolled_back(), e.DeviceWentOffline(work.device_id, work.clock.after(seconds=-60))]
    yield [e.DeviceCameOnline(work.device_id), work.created()]
    yield [work.late_report()]
    yield [work.sent()]
    yield [work.started()]
    yield from _finish(work)


def is_not_taken(work: Work) -> Iterator[Commit]:
    yield [work.created()]
    held = e.DeviceHeld(work.device_id, work.clock.after(minutes=5), 1)
    yield [work.taken_back("untaken"), work.cancelled("untaken"), held]
    yield [e.DeviceHoldEnded(work.device_id)]


def is_named(work: Work) -> Iterator[Commit]:
    yield [work.requested()]
    yield from succeeds(work)


def is_parked(work: Work) -> Iterator[Commit]:
    yield [work.requested()]
    yield [work.created()]
    yield [work.taken_back("job_paused"), work.parked()]
    yield from succeeds(work)


def is_cancelled_before_it_is_supplied(work: Work) -> Iterator[Commit]:
    yield [work.requested()]
    yield [work.cancelled("admin")]


def waits_for_its_phone(work: Work) -> Iterator[Commit]:
    yield from _begin(work)
    yield [work.failed("SCREEN_LOCKED"), work.retried(waits=True), work.quarantined("SCREEN_LOCKED", "screen_locked")]
    yield [e.DeviceReleased(work.device_id, "condition")]
    yield from succeeds(work)


def is_reopened(work: Work) -> Iterator[Commit]:
    yield from _begin(work)
    yield [work.failed("UNKNOWN", "?"), work.failed_final("UNKNOWN", "?")]
    yield [work.reopened()]
    yield from succeeds(work)


def stalls(work: Work) -> Iterator[Commit]:
    yield from _begin(work)
    yield [work.progressed(20, ad_playing=True)]
    yield [work.progressed(20)]
    stall = work.failed("PLAYBACK_STALLED", screenshot_ref="shots/1.png", activity_stack="WatchWhileActivity")
    yield [stall, work.retried()]
    yield from succeeds(work)


def has_no_video(work: Work) -> Iterator[Commit]:
    yield from _begin(work)
    yield [work.failed("VIDEO_UNAVAILABLE", "gone"), work.failed_final("VIDEO_UNAVAILABLE", "gone")]


def waits(work: Work) -> Iterator[Commit]:
    yield [work.requested()]


def is_offered(work: Work) -> Iterator[Commit]:
    yield [work.created()]


def is_sent(work: Work) -> Iterator[Commit]:
    yield [work.created()]
    yield [work.sent()]


def runs(work: Work) -> Iterator[Commit]:
    yield from _begin(work)
    yield [work.progressed(30)]


def is_to_be_retried(work: Work) -> Iterator[Commit]:
    yield from _begin(work)
    yield [work.late(), work.retried()]


ENDINGS: tuple[Story, ...] = (
    succeeds,
    fails_once,
    crashes_for_good,
    is_late_once,
    is_late_for_good,
    loses_its_network,
    is_not_taken,
    is_named,
    is_parked,
    is_cancelled_before_it_is_supplied,
    waits_for_its_phone,
    is_reopened,
    stalls,
)
FAILURES: tuple[Story, ...] = (crashes_for_good, is_late_for_good, has_no_video)
IN_FLIGHT: tuple[Story, ...] = (waits, is_offered, is_sent, runs, is_to_be_retried, waits_for_its_phone)


class FarmHistory:
    """Write it with `write`; afterwards `works` and `task_status` tell what should be seen."""

    def __init__(self, farm: Any, start: datetime, seed: int = 7) -> None:
        self.works: list[Work] = []
        self.task_status: dict[str, str] = {}
        """What `tasks` should show of each job."""
        self._farm = farm
        self._clock = Clock(lambda: start + timedelta(seconds=farm.head.n + 1))
        self._random = Random(seed)
        self._phones: dict[str, str] = {}

    async def write(self) -> None:
        await self._register()
        await self._job("success", ENDINGS, lambda job_id: e.JobCompleted(job_id, 40, 15, 3))
        await self._job("failed", FAILURES, lambda job_id: e.JobCompleted(job_id, 0, 60, 0))
        await self._job("cancelled", ENDINGS, lambda job_id: e.JobDeactivated(job_id, "VIDEO_UNAVAILABLE"))
        await self._job("cancelled", ENDINGS, e.JobExpired)
        await self._job("cancelled", ENDINGS, e.JobCancelled)
        await self._job("pending", ENDINGS, lambda job_id: e.JobPaused(job_id, "poison", "UNKNOWN"))
        await self._alerts()
        await self._job("running", IN_FLIGHT, None)
        await self._waiting_jobs()

    async def _register(self) -> None:
        for pc in range(PCS):
            await self._farm.commit(e.PcRegistered(f"pc-{pc}", 20))
            for phone in range(PHONES_PER_PC):
                number = pc * PHONES_PER_PC + phone
                device_id = str(UUID(int=number + 1))
                capabilities = ["age_verified"] if phone % 3 == 0 else []
                group = f"P{pc}-G{phone % 2}"
                await self._farm.commit(
                    e.DeviceRegistered(device_id, f"SERIAL{number:06d}", group, f"pc-{pc}", capabilities)
                )
                if phone % 5:
                    await self._farm.commit(e.DeviceCameOnline(device_id))
                self._phones[device_id] = f"pc-{pc}"
        moved = str(UUID(int=1))
        await self._farm.commit(e.DeviceChanged(moved, "P1-G1", "pc-1", ["age_verified", "premium"]))
        self._phones[moved] = "pc-1"
        await self._farm.commit(e.PcCapacityChanged("pc-0", 3))

    async def _job(self, shown: str, stories: tuple[Story, ...], end: Callable[[str], Event] | None) -> None:
        job_id = await self._create(shown)
        await self._farm.commit(e.JobActivated(job_id), e.SupplyAdvanced(job_id, PCS))
        plays = []
        for number, (device_id, pc_id) in enumerate(self._phones.items()):
            work = Work(self._clock, UUID(int=len(self.works) + 1, version=4), job_id, device_id, pc_id)
            self.works.append(work)
            plays.append(stories[number % len(stories)](work))
        while plays:  # one step of any of them, until all have come to their end
            play = self._random.choice(plays)
            commit = next(play, None)
            if commit is None:
                plays.remove(play)
            else:
                await self._farm.commit(*commit)
        if end is not None:
            await self._farm.commit(end(job_id))

    async def _create(self, shown: str, **fields: Any) -> str:
        job_id = str(UUID(int=10_000 + len(self.task_status), version=4))
        target = e.Target(pc_id="pc-0") if len(self.task_status) % 2 else None
        spec = ("a video", "https://youtu.be/x", "youtube_watch", 30, 90, 50, 30, 10)
        await self._farm.commit(e.JobCreated(job_id, *spec, fields.get("is_active", True), 10.0, target))
        self.task_status[job_id] = shown
        return job_id

    async def _alerts(self) -> None:
        job_id = next(iter(self.task_status))
        await self._farm.commit(e.AlertRaised("alert-1", "poison_job", job_id, "Three phones failed", {"rule": "X"}))
        await self._farm.commit(e.AlertRaised("alert-2", "host", "pc-0", "All phones fail", {"devices": 10}))
        await self._farm.commit(e.PcHeld("pc-0", self._clock.after(minutes=10)))
        await self._farm.commit(e.PcHeld("pc-1", self._clock.after(minutes=10)))
        await self._farm.commit(e.AlertAcknowledged("alert-1", "poison_job", job_id, "mine"))
        await self._farm.commit(e.AlertSnoozed("alert-2", "host", "pc-0", self._clock.after(minutes=5)))
        await self._farm.commit(e.AlertSnoozeEnded("alert-2", "host", "pc-0", "time", is_open=True))
        await self._farm.commit(e.PcHoldEnded("pc-1"), e.AlertResolved("alert-2", "host", "pc-0", "time"))

    async def _waiting_jobs(self) -> None:
        await self._create("pending")
        await self._create("pending", is_active=False)
        returned = await self._create("pending")
        await self._farm.commit(e.JobNeedAdded(returned, "age_verified"), e.JobReturned(returned))
        resumed = await self._create("pending")
        await self._farm.commit(e.JobPaused(resumed, "admin", None), e.JobResumed(resumed))
        ordered = await self._create("pending")
        await self._farm.commit(e.JobPrioritized(ordered, 7), e.JobPutFirst(ordered))
        scheduled = await self._create("pending")
        await self._farm.commit(e.JobScheduled(scheduled, self._clock.after(hours=1)), e.JobCameDue(scheduled))
        reopened = await self._create("pending")
        await self._farm.commit(e.JobDeactivated(reopened, None))
        await self._farm.commit(e.JobReopened(reopened))
        first = next(iter(self.task_status))
        await self._farm.commit(e.JobArchived(first))
