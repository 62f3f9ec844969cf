"""Sends the due alarms of one partition while this process leads it.

It claims due alarms by a command to the writer, and sends only what was committed as claimed. It keeps no position in
the log, so a rebuild, an import or a restart repeats nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import msgspec
import structlog
from msgspec.structs import replace
from nats.aio.client import Client
from nats.aio.msg import Msg

from drover.bus.messages import Rejected
from drover.bus.subscription import subscribed
from drover.domain.errors import Code, DroverError
from drover.domain.reminder.commands import ClaimDue
from drover.domain.reminder.keys import sending_key
from drover.domain.reminder.sending import TEXT_ERASED, TEXT_UNREADABLE
from drover.domain.reminder.state import Reminders
from drover.domain.reminder.texts import unpack
from drover.reminder import metrics
from drover.reminder.batches import Batch
from drover.reminder.faults import report
from drover.reminder.notification import Failed, Notification
from drover.reminder.sender import Claim, Job, Sender
from drover.service.sealing import SealDamaged
from drover.service.subject_sealing import Erased, KeysUnreachable
from drover.service.tasks import end
from drover.web.alarm_texts import AlarmTexts, NoSealingKeys, OpenText
from drover.writer.writer import Writer

POLL_S: Final = 1.0
"""Maximum seconds between two checks for due alarms, because a wake-up message can get lost."""
PAUSE_S: Final = 0.05
"""Seconds to wait after a claim without alarms. It prevents a busy loop when the clocks of reactor and writer
differ."""
TROUBLE_PAUSE_S: Final = 1.0
DRAIN_S: Final = 8.0
"""How many seconds a stop waits for unfinished sendings. Slower ones are sent again when their claims expire."""

log = structlog.get_logger("alarm")


class Reactor:
    def __init__(
        self,
        writer: Writer[Reminders],
        sender: Sender,
        texts: AlarmTexts,
        *,
        fetch_limit: int,
        instance: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`fetch_limit`: how many alarms to claim at a time, until another number is set at runtime."""
        self._writer = writer
        self._sender = sender
        self._texts = texts
        self._fetch_limit = fetch_limit
        self._instance = instance
        self._clock = clock
        self._partition = writer.partition.name
        self._wake = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._claiming: asyncio.Task[None] | None = None
        self._in_hand = 0

    @asynccontextmanager
    async def running(self, client: Client | None = None) -> AsyncIterator[None]:
        """Run the reactor. On exit, claim nothing more, and wait for unfinished sendings."""
        self._loop = asyncio.create_task(self._run(), name=f"reminders-{self._partition}")
        try:
            async with self._woken(client):
                yield
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Claim nothing more, release the claims of sendings that have not started, and wait for the others."""
        if self._loop is None:
            return
        await end(self._loop)
        try:
            async with asyncio.timeout(DRAIN_S):
                if self._claiming is not None:
                    await asyncio.gather(self._claiming, return_exceptions=True)
                await self._sender.withdraw(self._partition)
                while self._in_hand:
                    self._wake.clear()
                    await self._wake.wait()
        except TimeoutError:
            log.warning("sendings_abandoned", partition=self._partition, alarms=self._in_hand)

    @asynccontextmanager
    async def _woken(self, client: Client | None) -> AsyncIterator[None]:
        """Wake the reactor on every commit of the partition, so that an alarm that is due now is sent at once."""
        if client is None:
            yield
            return

        async def on_commit(message: Msg) -> None:
            self._wake.set()

        async with subscribed(client, self._writer.partition.subject, on_commit):
            yield

    async def _run(self) -> None:
        while True:
            await self._writer.leading.wait()
            try:
                await self._step()
            except Exception:
                log.exception("reactor_raised", partition=self._partition)
                report("batch_update", "reactor_stumbled", partition=self._partition)
                await asyncio.sleep(TROUBLE_PAUSE_S)

    async def _step(self) -> None:
        """Claim due alarms; if there are none, wait until one may be due."""
        self._wake.clear()
        state = self._writer.state
        if state is None:
            await self._sleep(POLL_S)
            return
        limit = state.fetch_limit or self._fetch_limit
        self._measure(state, limit)
        due_s = state.due_s()
        wait_s = POLL_S if due_s is None else due_s - self._clock()
        if self._in_hand > limit:
            await self._sleep(POLL_S)
        elif wait_s > 0:
            await self._sleep(min(wait_s, POLL_S))
        else:
            # Claim the next alarms while earlier ones are being sent, so that a slow sending holds up nothing.
            # The claim is shielded, because a stop can release only claims whose answer has arrived.
            self._claiming = asyncio.create_task(self._claim(limit), name=f"claim-{self._partition}")
            await asyncio.shield(self._claiming)

    async def _sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _claim(self, limit: int) -> None:
        outcome = await self._writer.submit(ClaimDue(limit, self._instance), by=f"reminder:{self._instance}")
        if isinstance(outcome, Rejected):
            if outcome.code not in (Code.NOT_LEADER, Code.LOG_FULL):  # a full log has an alert of its own
                report("batch_update", "claim_refused", partition=self._partition, code=outcome.code)
            await asyncio.sleep(PAUSE_S)
            return
        claims = msgspec.convert(outcome.result or [], list[Claim])
        if not claims:
            await asyncio.sleep(PAUSE_S)
            return
        log.debug("claimed", partition=self._partition, alarms=len(claims), limit=limit)
        batch = Batch(len(claims))
        made = [(claim, self._notification(claim)) for claim in claims]
        self._in_hand += sum(notification is not None for _, notification in made)
        open_ = await self._opener([one for _, one in made if one is not None])
        for claim, notification in made:
            if notification is None:
                batch.done()
            else:
                self._begin(claim, notification, open_, batch)

    async def _opener(self, notifications: Sequence[Notification]) -> OpenText | DroverError:
        """Get the keys of all texts at once, and return the function that opens the texts; or the error, if the keys
        cannot be had."""
        try:
            return await self._texts.opener(text for one in notifications for text in (one.title, one.body))
        except (KeysUnreachable, NoSealingKeys) as error:
            return error

    def _begin(self, claim: Claim, sealed: Notification, open_: OpenText | DroverError, batch: Batch) -> None:
        wanted, ended = partial(self._is_wanted, claim), partial(self._ended, batch)
        opened = _opened(sealed, open_)
        if isinstance(opened, Failed):
            job = Job(claim, sealed, self._partition, wanted, ended, problem=opened)
        else:
            job = Job(claim, opened, self._partition, wanted, ended)
        self._sender.offer(job)

    def _is_wanted(self, claim: Claim) -> bool:
        """Whether the claimed alarm must still be sent. True if another process leads now, because the state is then
        unknown here."""
        state = self._writer.state
        alarm = None if state is None else state.alarms.get(claim.page_id)
        return state is None or (alarm is not None and (alarm.sent_count, alarm.life) == (claim.sending, claim.life))

    def _ended(self, batch: Batch) -> None:
        self._in_hand -= 1
        self._wake.set()
        batch.done()

    def _notification(self, claim: Claim) -> Notification | None:
        """Make the notification of a claimed alarm from the current state. None: the alarm was deleted or changed in
        the meantime, or this process no longer leads."""
        state = self._writer.state
        alarm = None if state is None else state.alarms.get(claim.page_id)
        if state is None or alarm is None or (alarm.sent_count, alarm.life) != (claim.sending, claim.life):
            return None
        if claim.attempt == 1 and not alarm.immediate:
            metrics.DUE_TO_DISPATCHED.observe(max(0.0, self._clock() - alarm.next_s))
        title, body = unpack(alarm.text)
        delivered = state.delivered.get(claim.page_id, ())
        known = state.subscriptions.get(alarm.user.user_id, {}).values()
        return Notification(
            key=sending_key(claim.page_id, claim.sending, claim.life),
            page_id=claim.page_id,
            user_id=alarm.user.user_id,
            title=title,
            body=body,
            sent_count=claim.sending,
            subscriptions=tuple(one for one in known if one.subscription_id not in delivered),
            delivered=delivered,
        )

    def _measure(self, state: Reminders, limit: int) -> None:
        metrics.FETCH_LIMIT.labels(self._partition).set(limit)
        metrics.ALARMS.labels(self._partition).set(len(state.alarms))
        metrics.IN_HAND.labels(self._partition).set(len(state.in_hand))


def _opened(sealed: Notification, open_: OpenText | DroverError) -> Notification | Failed:
    """Open the texts of a notification, or say why it cannot be sent."""
    try:
        if isinstance(open_, DroverError):
            raise open_
        return replace(sealed, title=open_("title", sealed.title), body=open_("body", sealed.body))
    except Erased as error:
        return Failed(permanent=True, code=TEXT_ERASED, error=str(error))
    except DroverError as error:
        return Failed(permanent=isinstance(error, SealDamaged), code=TEXT_UNREADABLE, error=str(error))
