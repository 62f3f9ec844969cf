"""The delivery queue of one receiver: sends notices one at a time, and retries. The number of waiting notices is
bounded.

A failed notice goes behind those that have failed less often, so that a notice that always fails does not block the
others. The resolution of an alert is never sent before the alert itself.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Final

import msgspec
import structlog

from drover.domain.backoff import Backoff, Retries
from drover.notifier import metrics
from drover.notifier.ledger import Ledger, LedgerTrouble, Record, Taken
from drover.notifier.notice import Delivered, Failed, Notice, Outcome, Receiver, Uncertain
from drover.service.tasks import end

WAITING_MAX: Final = 500
"""Maximum of waiting notices. While this many wait, no more of the log is read."""
CLAIM_MARGIN_S: Final = 2.0
"""Seconds added to the time-out of a send. After both have passed, another process may assume that the sender is
dead."""
TROUBLE_PAUSE_S: Final = 1.0
RETRY: Final = Backoff(first_s=1.0, max_s=300.0, jitter=0.2)
"""The pauses before a notice is sent again to a receiver that did not accept it."""
ASKED_MAX_S: Final = 3600.0
"""The longest pause in seconds that a receiver's `Retry-After` can demand; a longer one is shortened to this."""
SOON_S: Final = 0.001
"""Waits shorter than this are skipped: they may be rounding errors of a subtraction."""
MESSAGE_CHARS_MAX: Final = 300
"""Maximum length of an alert's text that is kept for the notice of its resolution; the rest is cut off."""

log = structlog.get_logger("drover.notifier")


class Times(msgspec.Struct, frozen=True):
    timeout_s: float
    """Time-out of one send, in seconds."""
    max_age: timedelta
    """Notices that are older than this are dropped."""


class Item(msgspec.Struct, eq=False):
    """A notice in the queue."""

    notice: Notice
    settled: Callable[[], None]
    """Called once, when the notice was delivered or dropped."""
    tries: int = 0
    due_s: float = float("-inf")
    result: tuple[Record, int] | None = None
    """The record of the outcome, and the revision that it replaces, until the ledger has stored it."""


class DeliveryQueue:
    def __init__(
        self,
        receiver: Receiver,
        ledger: Ledger,
        times: Times,
        *,
        token: str,
        now: Callable[[], datetime],
        roll: Callable[[], float] = random.random,
    ) -> None:
        """`token`: marks the records of this process. It is different after each start."""
        self._receiver = receiver
        self._ledger = ledger
        self._times = times
        self._token = token
        self._now = now
        self._retries = Retries(RETRY, roll)
        self._items: list[Item] = []
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._free_s = float("-inf")
        """The time before which nothing is sent to the receiver."""
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the queue. On exit, start no more sends, and let the current one finish."""
        async with self._receiver.running():
            self._task = asyncio.create_task(self._run(), name=f"notices to {self._receiver.name}")
            try:
                yield
            finally:
                self._stopping = True
                self._changed.set()
                await asyncio.wait([self._task], timeout=self._times.timeout_s + CLAIM_MARGIN_S)
                await end(self._task)
                metrics.WAITING.labels(self._receiver.name).set(0)

    async def wait_failed(self) -> None:
        assert self._task is not None
        await asyncio.shield(self._task)

    async def offer(self, notice: Notice, settled: Callable[[], None]) -> None:
        """Add a notice. Waits while the queue is full."""
        while len(self._items) >= WAITING_MAX:
            self._room.clear()
            await self._room.wait()
        self._items.append(Item(notice, settled))
        self._changed.set()
        metrics.WAITING.labels(self._receiver.name).set(len(self._items))

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._stopping:
            self._changed.clear()
            item = self._next()
            wait_s = None if item is None else max(item.due_s, self._free_s) - loop.time()
            if item is None or (wait_s is not None and wait_s > SOON_S):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), wait_s)
            else:
                await self._attend(item)

    def _next(self) -> Item | None:
        """Choose the next notice: due ones first, then those with the fewest failures, then the oldest."""
        told_first = {item.notice.alert for item in self._items if item.notice.phase == "raised"}
        free = [item for item in self._items if item.notice.phase == "raised" or item.notice.alert not in told_first]
        now_s = asyncio.get_running_loop().time()
        return min(free, key=lambda item: (max(item.due_s - now_s, 0.0), item.tries), default=None)

    async def _attend(self, item: Item) -> None:
        loop = asyncio.get_running_loop()
        try:
            if item.result is None:
                await self._tell(item)
            if item.result is not None:
                await self._write_down(item, *item.result)
        except Taken:
            # Another process leads now, or did in between: its record is valid, not ours.
            item.result = None
            item.due_s = loop.time() + TROUBLE_PAUSE_S
        except LedgerTrouble as error:
            log.warning("ledger_unreachable", receiver=self._receiver.name, error=str(error))
            item.due_s = loop.time() + TROUBLE_PAUSE_S

    async def _tell(self, item: Item) -> None:
        name, key, now = self._receiver.name, item.notice.key, self._now()
        record, revision = await self._ledger.get(name, key)
        if record is not None and record.state in ("sent", "dropped"):
            self._settle(item)
            return
        if record is not None and record.state == "begun" and record.by != self._token:
            left_s = 0.0 if record.until is None else (record.until - now).total_seconds()
            if left_s > 0:
                item.due_s = asyncio.get_running_loop().time() + left_s
                return
        notice = await self._completed(item.notice)
        if notice is None:
            self._settle(item)
            return
        attempt = 1 if record is None else record.attempt + 1
        if now - notice.at > self._times.max_age:
            item.result = self._dropped(attempt, "too_old", key), revision
            return
        claimed = now + timedelta(seconds=self._times.timeout_s + CLAIM_MARGIN_S)
        begun = Record(state="begun", attempt=attempt, by=self._token, until=claimed)
        revision = await self._ledger.put(name, key, begun, revision)
        outcome = await self._send(notice, repeat=record is not None and record.state == "begun")
        item.tries += 1
        item.result = self._result(notice, attempt, outcome, revision)

    async def _completed(self, notice: Notice) -> Notice | None:
        """Add the data of the alert to the notice of its resolution. None: this receiver never got the alert, so the
        resolution is not sent."""
        if notice.phase == "raised":
            return notice
        raised, _ = await self._ledger.get(self._receiver.name, f"{notice.alert}.raised")
        if raised is None or raised.state != "sent":
            return None
        return msgspec.structs.replace(notice, message=raised.message, raised_at=raised.at)

    async def _send(self, notice: Notice, *, repeat: bool) -> Outcome:
        name = self._receiver.name
        if repeat:
            metrics.REPEATED.labels(name).inc()
        try:
            async with asyncio.timeout(self._times.timeout_s):
                outcome = await self._receiver.send(notice, repeat=repeat)
        except TimeoutError:
            outcome = Uncertain("timed_out")
        except Exception:
            log.exception("receiver_raised", receiver=name, key=notice.key)
            outcome = Uncertain("receiver_raised")
        metrics.SENDINGS.labels(name, notice.phase, _named(outcome)).inc()
        self._pace(outcome)
        if isinstance(outcome, Delivered):
            metrics.DELAY.labels(name).observe(max((self._now() - notice.at).total_seconds(), 0.0))
            log.info("notice_delivered", receiver=name, key=notice.key, kind=notice.kind)
        else:
            log.warning("notice_not_delivered", receiver=name, key=notice.key, code=outcome.code, said=_named(outcome))
        return outcome

    def _pace(self, outcome: Outcome) -> None:
        pause_s = self._receiver.pace_s
        if isinstance(outcome, Delivered) or (isinstance(outcome, Failed) and outcome.permanent):
            self._retries.succeeded()
        else:
            asked_s = outcome.retry_after_s if isinstance(outcome, Failed) else None
            pause_s = max(pause_s, self._retries.failed(), min(asked_s or 0.0, ASKED_MAX_S))
        self._free_s = asyncio.get_running_loop().time() + pause_s

    def _result(self, notice: Notice, attempt: int, outcome: Outcome, revision: int) -> tuple[Record, int] | None:
        """Make the record of an outcome. None if the outcome is unknown: the record written before the send stays."""
        if isinstance(outcome, Uncertain):
            return None
        if isinstance(outcome, Failed):
            if outcome.permanent:
                return self._dropped(attempt, outcome.code, notice.key), revision
            return Record(state="failed", attempt=attempt, by=self._token, why=outcome.code), revision
        message = notice.message[:MESSAGE_CHARS_MAX]
        return Record(state="sent", attempt=attempt, by=self._token, at=notice.at, message=message), revision

    def _dropped(self, attempt: int, why: str, key: str) -> Record:
        log.error("notice_dropped", receiver=self._receiver.name, key=key, why=why)
        metrics.DROPPED.labels(self._receiver.name, "too_old" if why == "too_old" else "refused").inc()
        return Record(state="dropped", attempt=attempt, by=self._token, why=why)

    async def _write_down(self, item: Item, record: Record, revision: int) -> None:
        """Store the outcome in the ledger. The notice keeps its outcome until that succeeds: an unreachable ledger must
        not cause a second send."""
        await self._ledger.put(self._receiver.name, item.notice.key, record, revision)
        item.result = None
        if record.state in ("sent", "dropped"):
            self._settle(item)

    def _settle(self, item: Item) -> None:
        self._items.remove(item)
        self._room.set()
        self._changed.set()
        metrics.WAITING.labels(self._receiver.name).set(len(self._items))
        item.settled()


def _named(outcome: Outcome) -> str:
    if isinstance(outcome, Failed):
        return "permanent" if outcome.permanent else "passing"
    return "delivered" if isinstance(outcome, Delivered) else "unknown"
