"""Tells users that a cleanup has refunded tests. Turns the requests in the log of analyses into notices.

No position is stored. A start reads the requests of the last day again, and the writer of reminders ignores those that
it has handled before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final

import structlog

from drover.bus.messages import Rejected
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis.events import UserNotificationRequested
from drover.domain.backoff import Backoff, Retries
from drover.domain.errors import RETRY_LATER
from drover.domain.reminder.commands import Notify
from drover.domain.reminder.notices import TOLD_WITHIN
from drover.eventlog.codec import Codec, UnreadableCommit, lines
from drover.eventlog.follow import Follower, last_before
from drover.eventlog.log import EventLog, StoredCommit
from drover.web.alarm_texts import AlarmTexts
from drover.web.commands import Origin, PartitionedClient
from drover.web.errors import ApiError

PAGE_PREFIX: Final = "cleanup:"
"""The page ids of these notices begin with this."""
RETRY: Final = Backoff(first_s=0.5, max_s=30.0)
_MARK: Final = UserNotificationRequested.__name__.encode()
_ORIGIN: Final = Origin(by="cleanup")

log = structlog.get_logger("alarm")


class RefundNotices:
    def __init__(
        self,
        event_log: EventLog,
        clients: PartitionedClient,
        *,
        texts: AlarmTexts,
        title: str,
        body: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`event_log`: the log of analyses. In `title` and `body`, `{tests}` is replaced by the number of tests."""
        self._log = event_log
        self._clients = clients
        self._texts = texts
        self._title = title
        self._body = body
        self._clock = clock
        self._codec = Codec.of(ANALYSIS)
        self._follower = Follower(event_log, self._take, name="notices of refunds", begin=self._begin)
        self.wait_failed = self._follower.wait_failed

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._follower.running():
            yield

    async def _begin(self, last: StoredCommit | None) -> int:
        return 0 if last is None else await last_before(self._log, self._clock() - TOLD_WITHIN, last.seq)

    def _take(self, commit: StoredCommit) -> Awaitable[None] | None:
        requests = [*self._requests(commit)]
        return self._send_all(requests) if requests else None

    def _requests(self, commit: StoredCommit) -> Iterator[UserNotificationRequested]:
        if _MARK not in commit.payload:
            return
        for line in lines(commit.payload):
            if _MARK in line and (event := self._read(line, commit.seq)) is not None:
                yield event

    def _read(self, line: bytes, seq: int) -> UserNotificationRequested | None:
        try:
            (event,) = self._codec.decode(line)
        except UnreadableCommit as error:
            log.error("line_unreadable", context=ANALYSIS.context, seq=seq, error=str(error))
            return None  # skip the line, so that later notices are still sent
        return event if isinstance(event, UserNotificationRequested) else None

    async def _send_all(self, requests: list[UserNotificationRequested]) -> None:
        await asyncio.gather(*map(self._send, requests))

    async def _send(self, request: UserNotificationRequested) -> None:
        """Send the notice to the writer of the user's partition. Retry until the writer answers."""
        retries = Retries(RETRY)
        while True:
            try:
                command = await self._command(request)
            except ApiError as error:  # the keys cannot be reached, or there are none
                log.warning("notice_not_sealed", user_id=request.user_id, error=str(error))
                await asyncio.sleep(retries.failed())
                continue
            outcome = await self._clients.of(request.user_id).outcome(command, _ORIGIN)
            if not isinstance(outcome, Rejected) or outcome.code not in RETRY_LATER:
                break
            await asyncio.sleep(retries.failed())
        if isinstance(outcome, Rejected):
            log.error("notice_refused", page_id=command.page_id, user_id=request.user_id, code=outcome.code)

    async def _command(self, request: UserNotificationRequested) -> Notify:
        user_id, tests = request.user_id, str(request.tests)
        seal = await self._texts.sealer([user_id])
        return Notify(
            page_id=f"{PAGE_PREFIX}{request.notification_id}",
            user_id=user_id,
            title=seal(user_id, "title", self._title.replace("{tests}", tests)),
            body=seal(user_id, "body", self._body.replace("{tests}", tests)),
            asked_at=request.at,
        )
