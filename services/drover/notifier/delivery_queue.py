"""The delivery queue of one receiver: sends notices one at a time, and retries. The number of waiting notices is
bounded.

Critical notices overtake warnings, and warnings of one kind are folded (`folding`). A failed notice goes behind those
that have failed less often, so that a notice that always fails does not block the others. The resolution of an alert is
never sent before the alert itself.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final, TypeVar

import msgspec
import structlog

from drover.domain.backoff import Backoff, Retries
from drover.domain.severity import CRITICAL
from drover.notifier import metrics
from drover.notifier.folding import FOLDED_MAX, GATHER_S, fold
from drover.notifier.ledger import Ledger, LedgerTrouble, Record, Taken
from drover.notifier.notice import Delivered, Failed, Notice, Outcome, Receiver, Uncertain
from drover.service.tasks import end

WAITING_MAX: Final = 500
"""Maximum of waiting notices of one severity. While this many wait, no more of the log is read for this severity."""
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
TOGETHER_S: Final = 0.1
"""Notices that are due within this many seconds of each other can be in one message. Those that a dead process had sent
together become due at almost the same time."""
MESSAGE_CHARS_MAX: Final = 300
"""Maximum length of an alert's text that is kept for the notice of its resolution; the rest is cut off."""

T = TypeVar("T")

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
    is_critical: bool
    gathers_to_s: float = float("-inf")
    """Until when a warning waits for others of its kind."""
    tries: int = 0
    due_s: float = float("-inf")
    alone: bool = False
    """Whether the notice is not folded any more, because the receiver refused a message that it was part of."""
    result: tuple[Record, int] | None = None
    """The record of the outcome that is to be stored in the ledger, and the revision that it replaces. None: nothing is
    to be stored."""


class Draft(msgspec.Struct, eq=False):
    """A notice that is about to be sent."""

    item: Item
    notice: Notice
    attempt: int
    revision: int
    doubt: str | None
    """The key of the message in which an earlier try was sent that may have arrived. None: no earlier try can have
    arrived."""


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
        self._critical_failed = False
        """Whether the last message was a critical notice that failed."""
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
        """Add a notice. Waits while the queue is full of notices of its severity."""
        is_critical = notice.severity == CRITICAL
        while sum(item.is_critical == is_critical for item in self._items) >= WAITING_MAX:
            self._room.clear()
            await self._room.wait()
        item = Item(notice, settled, is_critical)
        if self._receiver.folds and not is_critical:
            item.gathers_to_s = asyncio.get_running_loop().time() + GATHER_S
        self._items.append(item)
        self._changed.set()
        metrics.WAITING.labels(self._receiver.name).set(len(self._items))

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._stopping:
            self._changed.clear()
            item = self._next()
            wait_s = None if item is None else max(item.due_s, item.gathers_to_s, self._free_s) - loop.time()
            if item is None or (wait_s is not None and wait_s > SOON_S):
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._changed.wait()
            else:
                await self._attend(item)

    def _next(self) -> Item | None:
        """Choose the next notice: due ones first, then critical ones, then those with the fewest failures, then the
        oldest."""
        return min(self._free(), key=self._rank, default=None)

    def _rank(self, item: Item) -> tuple[float, bool, bool, int]:
        wait_s = max(item.due_s, item.gathers_to_s) - asyncio.get_running_loop().time()
        # Perhaps only some critical notices fail. So after a failed critical notice, those that have failed before come
        # last.
        yields = self._critical_failed and item.is_critical and item.tries > 0
        return max(wait_s, 0.0), yields, not item.is_critical, item.tries

    def _free(self) -> list[Item]:
        """Return the notices that may be sent: of one alert in the order of their phases."""
        first = {"raised": 0, "reminded": 1, "resolved": 2}
        earliest: dict[str, int] = {}
        for item in self._items:
            alert = item.notice.alert
            earliest[alert] = min(earliest.get(alert, 2), first[item.notice.phase])
        return [item for item in self._items if first[item.notice.phase] == earliest[item.notice.alert]]

    def _together(self, first: Item) -> list[Item]:
        """Return the notices that can be sent in one message with `first`: the later ones of its kind, until one of
        them has the other phase or is not due. So the order within a kind is kept."""
        together = [first]
        if not self._receiver.folds or first.is_critical or first.alone:
            return together
        now_s = asyncio.get_running_loop().time()
        for item in self._items[self._items.index(first) + 1 :]:
            if (item.notice.context, item.notice.kind) != (first.notice.context, first.notice.kind):
                continue
            unready = item.alone or item.result is not None or item.due_s > now_s + TOGETHER_S
            if unready or item.notice.phase != first.notice.phase or len(together) == FOLDED_MAX:
                break
            together.append(item)
        return together

    async def _attend(self, item: Item) -> None:
        together = [item]
        if item.result is None:
            together = self._together(item)
            await self._tell(together)
        for one in together:
            if one.result is not None:
                await self._guarded(one, self._write_down(one, *one.result))

    async def _guarded(self, item: Item, step: Awaitable[T]) -> T | None:
        """Await a step that uses the ledger, and return its result. None: the ledger refused it or did not answer, so
        the notice is tried again later."""
        loop = asyncio.get_running_loop()
        try:
            return await step
        except Taken:
            # Another process leads now, or did in between: its record is valid, not ours.
            item.result = None
        except LedgerTrouble as error:
            log.warning("ledger_unreachable", receiver=self._receiver.name, error=str(error))
        item.due_s = loop.time() + TROUBLE_PAUSE_S
        return None

    async def _tell(self, together: list[Item]) -> None:
        """Send in one message those of these notices that still must be sent. If some of them may have arrived in an
        earlier message, they are not mixed with others: they are sent again in the same group."""
        drafts = [draft for item in together if (draft := await self._guarded(item, self._draft(item))) is not None]
        drafts = list(takewhile(lambda draft: draft.doubt == drafts[0].doubt, drafts))
        if not drafts:
            return
        fold_key = fold([draft.notice for draft in drafts]).key
        until = self._now() + timedelta(seconds=self._times.timeout_s + CLAIM_MARGIN_S)
        begun = [draft for draft in drafts if await self._guarded(draft.item, self._begin(draft, fold_key, until))]
        if not begun:
            return
        outcome = await self._send(fold([draft.notice for draft in begun]), repeat=begun[0].doubt is not None)
        self._critical_failed = begun[0].item.is_critical and not isinstance(outcome, Delivered)
        for draft in begun:
            self._note(draft, outcome, is_folded=len(begun) > 1)

    async def _draft(self, item: Item) -> Draft | None:
        """Prepare a notice for sending. None: it is settled, has to wait, or is dropped."""
        if item.notice.phase == "reminded" and await self._is_first(item.notice):
            item.notice = msgspec.structs.replace(item.notice, phase="raised")
        key, now = item.notice.key, self._now()
        record, revision = await self._ledger.get(self._receiver.name, key)
        if record is not None and record.state in ("sent", "dropped"):
            self._settle(item)
            return None
        if record is not None and record.state == "begun" and record.by != self._token:
            left_s = 0.0 if record.until is None else (record.until - now).total_seconds()
            if left_s > TOGETHER_S:
                item.due_s = asyncio.get_running_loop().time() + left_s
                return None
        notice = await self._completed(item.notice)
        if notice is None:
            self._settle(item)
            return None
        attempt = 1 if record is None else record.attempt + 1
        if now - notice.at > self._times.max_age:
            item.result = self._dropped(attempt, "too_old", key), revision
            return None
        doubt = None if record is None or record.state != "begun" else record.sent_as or key
        return Draft(item, notice, attempt, revision, doubt)

    async def _begin(self, draft: Draft, fold_key: str, until: datetime) -> bool:
        """Record in the ledger that the notice is about to be sent. Returns True."""
        key = draft.item.notice.key
        sent_as = "" if fold_key == key else fold_key
        begun = Record(state="begun", attempt=draft.attempt, by=self._token, until=until, sent_as=sent_as)
        draft.revision = await self._ledger.put(self._receiver.name, key, begun, draft.revision)
        return True

    def _note(self, draft: Draft, outcome: Outcome, *, is_folded: bool) -> None:
        item = draft.item
        item.tries += 1
        if is_folded and isinstance(outcome, Failed) and outcome.permanent:
            # The receiver may have refused the message because of one of its notices. From now on, send each by itself.
            item.alone = True
            outcome = Failed(outcome.code)
        item.result = self._result(draft.notice, draft.attempt, outcome, draft.revision)
        if item.is_critical and not isinstance(outcome, Delivered):
            # With each failure, wait longer, so that others get their turn. The wait is half the pause that a failing
            # receiver gets, so this notice is due again when that receiver is tried again.
            item.due_s = asyncio.get_running_loop().time() + RETRY.pause_s(item.tries) / 2

    async def _is_first(self, reminder: Notice) -> bool:
        """Whether a reminder is the first that the receiver hears of an alert, because that was raised while it was
        snoozed. Also true if it was told as such already, by a process whose position was not stored."""
        raised, _ = await self._ledger.get(self._receiver.name, f"{reminder.alert}.raised")
        return raised is None or raised.state != "sent" or raised.at == reminder.at

    async def _completed(self, notice: Notice) -> Notice | None:
        """Add the data of the alert to a later notice of it. None: this receiver never got the alert, so its
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
            for one in notice.folded or (notice,):
                metrics.DELAY.labels(name).observe(max((self._now() - one.at).total_seconds(), 0.0))
            metrics.FOLDED.labels(name).inc(len(notice.folded))
            log.info("notice_delivered", receiver=name, key=notice.key, kind=notice.kind, folded=len(notice.folded))
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
