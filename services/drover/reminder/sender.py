"""Sends claimed alarms: calls the provider for a bounded number at a time, and reports each outcome to the writer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import msgspec
import structlog
from uuid_utils import uuid7

from drover.bus.messages import Accepted, Bus, Rejected
from drover.bus.messages import Outcome as Reply
from drover.domain.decider import Command
from drover.domain.errors import RETRY_LATER, Code
from drover.domain.reminder.commands import RemoveSubscription, ReportFailed, ReportSent, ReportUnknown
from drover.domain.reminder.sending import NOT_BEGUN
from drover.reminder.faults import report
from drover.reminder.metrics import CONCURRENCY, CONCURRENCY_LIMIT, RETIRED, SENDINGS
from drover.reminder.notification import Delivered, Failed, Notification, Provider, Uncertain
from drover.reminder.recordable import recordable
from drover.service.tasks import end

CONTEXT: Final = "reminder"
REPORT_TRIES_MAX: Final = 6
"""How often the report of an outcome is tried, 20 s each. Without a report, the reminder is sent again when its claim
expires, with the same idempotency key."""
LOG_FULL_PAUSE_S: Final = 20.0
"""The pause before the next try if the log is full: unlike the other refusals, that one comes at once."""
GONE: Final = "gone"

log = structlog.get_logger("alarm")


class Claim(msgspec.Struct, frozen=True):
    """A claimed alarm, as the writer's answer describes it."""

    page_id: str
    sending: int
    life: int
    attempt: int


class Job(msgspec.Struct, frozen=True):
    """A claimed alarm that waits for the provider."""

    claim: Claim
    notification: Notification
    partition: str
    wanted: Callable[[], bool]
    """Called just before the reminder is sent. Returns whether it is still wanted: its page may be deleted by then."""
    ended: Callable[[], None]
    """Called once: after the outcome was reported, or when it is clear that there will be no report."""
    problem: Failed | None = None
    """Why the reminder cannot be sent: its texts cannot be opened. None: it can be sent."""


class Sender:
    """Sends the claimed alarms of all partitions of a process, at most `concurrency` at a time.

    Workers take jobs one by one, so that claims and commits get their turn in between.
    """

    def __init__(self, provider: Provider, bus: Bus, *, concurrency: int, instance: str) -> None:
        self._provider = provider
        self._bus = bus
        self._concurrency = concurrency
        self._by = f"reminder:{instance}"
        self._waiting: deque[Job] = deque()
        """The jobs that wait for a worker. Their number is bounded, because each partition limits how many claims it
        holds."""
        self._arrived = asyncio.Event()
        self._reports: set[asyncio.Task[None]] = set()
        CONCURRENCY_LIMIT.set(concurrency)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        workers = [asyncio.create_task(self._work(), name=f"sender-{n}") for n in range(self._concurrency)]
        try:
            async with self._provider.running():
                try:
                    yield
                finally:
                    await end(*workers)
        finally:
            await end(*self._reports)

    def offer(self, job: Job) -> None:
        self._waiting.append(job)
        self._arrived.set()

    async def withdraw(self, partition: str) -> None:
        """Release at once the claims of this partition whose sending has not started, instead of letting them
        expire."""
        left = [job for job in self._waiting if job.partition == partition]
        self._waiting = deque(job for job in self._waiting if job.partition != partition)
        outcome = Failed(permanent=False, code=NOT_BEGUN)
        await asyncio.gather(*(self._settle(job, outcome) for job in left))

    async def _work(self) -> None:
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            job = self._waiting.popleft()
            if not job.wanted():
                job.ended()
                continue
            try:
                with CONCURRENCY.track_inprogress():
                    outcome = job.problem or await self._send(job.notification)
            except BaseException:  # cancelled in the middle: the outcome is unknown
                job.ended()
                raise
            # Report while the next reminder is being sent: the commit of a report may take longer than a provider.
            task = asyncio.create_task(self._settle(job, outcome), name=f"report {job.notification.key}")
            self._reports.add(task)
            task.add_done_callback(self._reports.discard)
            await asyncio.sleep(0)

    async def _settle(self, job: Job, outcome: Delivered | Failed | Uncertain) -> None:
        try:
            for id_ in outcome.gone:
                await self._retire(job.notification.user_id, id_, job.partition)
            await self._report(job.claim, job.notification, outcome, job.partition)
        except Exception:
            log.exception("report_raised", key=job.notification.key)
            report("batch_update", "report_lost", key=job.notification.key)
        finally:
            job.ended()

    async def _send(self, notification: Notification) -> Delivered | Failed | Uncertain:
        log.debug("sending", key=notification.key, provider=self._provider.name)
        try:
            outcome = await self._provider.send(notification)
        except Exception as error:
            log.exception("provider_raised", key=notification.key, provider=self._provider.name)
            outcome = Uncertain(code="provider_raised", error=repr(error)[:300])
        SENDINGS.labels(self._provider.name, _named(outcome)).inc()
        if isinstance(outcome, Delivered):
            log.debug("sent", key=notification.key, notification_id=outcome.notification_id)
        else:
            report("push", "push_failed", key=notification.key, outcome=_named(outcome), code=outcome.code)
        return recordable(outcome, notification)

    async def _report(
        self, claim: Claim, notification: Notification, outcome: Delivered | Failed | Uncertain, partition: str
    ) -> None:
        about = (claim.page_id, claim.sending, claim.life, claim.attempt)
        command: Command
        if isinstance(outcome, Delivered):
            command = ReportSent(*about, notification_id=outcome.notification_id)
        elif isinstance(outcome, Failed):
            command = ReportFailed(
                *about,
                permanent=outcome.permanent,
                code=outcome.code,
                error=outcome.error,
                only_for_a_day=outcome.only_for_a_day,
            )
        else:
            command = ReportUnknown(*about, code=outcome.code, error=outcome.error, delivered=outcome.delivered)
        answer = await self._told(command, partition)
        if isinstance(answer, Accepted):
            if answer.result and answer.result.get("crowded"):
                report("crowded_minute", "minute_crowded", key=notification.key, user_id=notification.user_id)
        elif answer.code == Code.STALE_ATTEMPT:
            log.debug("report_stale", key=notification.key)  # deleted in the meantime, or reported by another claim
        else:
            report("batch_update", "report_lost", key=notification.key, code=answer.code, message=answer.message)

    async def _retire(self, user_id: str, id_: str, partition: str) -> None:
        answer = await self._told(RemoveSubscription(user_id, id_, GONE), partition)
        if isinstance(answer, Accepted):
            RETIRED.inc()
            log.info("subscription_retired", user_id=user_id, subscription_id=id_)

    async def _told(self, command: Command, partition: str) -> Reply:
        """Send a command to the partition's writer over NATS, not within this process: another process may lead the
        partition by now."""
        id_ = str(uuid7())
        for _ in range(REPORT_TRIES_MAX):
            answer = await self._bus.send(CONTEXT, command, by=self._by, id=id_, partition=partition)
            if not isinstance(answer, Rejected) or answer.code not in RETRY_LATER:
                break
            if answer.code == Code.LOG_FULL:
                await asyncio.sleep(LOG_FULL_PAUSE_S)
        return answer


def _named(outcome: Delivered | Failed | Uncertain) -> str:
    if isinstance(outcome, Failed):
        if outcome.only_for_a_day:
            return "refused"
        return "permanent" if outcome.permanent else "passing"
    return "delivered" if isinstance(outcome, Delivered) else "unknown"
