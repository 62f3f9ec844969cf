"""The client for commands: batches them per partition and retries with the same id until a deadline."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import Final

import msgspec
import structlog
from msgspec import UNSET
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from uuid_utils import uuid7

from drover.bus import metrics
from drover.bus.messages import OVERLOADED, Outcome, Rejected, Reply, Submission
from drover.bus.spans import traced
from drover.domain.backoff import Backoff
from drover.domain.decider import Command
from drover.domain.errors import Code
from drover.service import tracing

DEADLINE_S: Final = 20.0
"""How long a command is retried. This is longer than an election among three NATS servers (4 to 9 s), and longer than
the lease of a dead leader lasts (10 s)."""
REPLY: Final = Backoff(first_s=1.0, max_s=4.0)
"""The time-out of each try. It starts short, because a dead leader is soon replaced, and grows, so that a leader with a
slow disk does not get the same commands again and again."""
REPLY_MIN_S: Final = 0.05
"""The shortest time-out of a try in seconds, even if the deadline comes earlier."""
RETRY: Final = Backoff(first_s=0.1, max_s=1.0, jitter=0.5)
MESSAGE_COMMANDS_MAX: Final = 128
"""How many commands one message may have. Each message gets its own reply, so with small messages some callers can go
on while others still wait for the disk."""
MESSAGE_EVERY_S: Final = 0.003
"""The shortest pause between two messages to a partition, in seconds, while replies are outstanding. A full message is
sent at once. So is a command if no other one is waiting or unanswered."""
PATIENCE_S: Final = 0.02
"""How many seconds a command that can wait (`Command.can_wait`) stays in the queue at most. Usually another command is
sent earlier, and this one goes with it in the same message."""
MESSAGE_BYTES_MAX: Final = 512 * 1024
COMMAND_BYTES_MAX: Final = 256 * 1024
WAITING_MAX: Final = 20_000

log = structlog.get_logger("drover.bus")
_encoder = msgspec.json.Encoder()
_decode_reply = msgspec.json.Decoder(Reply).decode

_UNAVAILABLE: Final = Rejected(
    Code.UNAVAILABLE,
    "Nobody answered in time; the command may still take effect. Repeat it with the same Idempotency-Key",
)
_TOO_LARGE: Final = Rejected(Code.TOO_LARGE, f"The command is larger than {COMMAND_BYTES_MAX} bytes")


class _Waiting(msgspec.Struct):
    """One command whose caller waits for its outcome. It is a msgspec Struct, because that is the cheapest object to
    create."""

    encoded: bytes
    future: asyncio.Future[Outcome]
    since: float
    deadline: float


class _Line:
    """The queue of commands for one partition, and the messages that were sent but not answered yet."""

    def __init__(self, client: Client, context: str, partition: str) -> None:
        self._client = client
        self._subject = f"cmd.{context}.{partition}"
        self._took = metrics.COMMAND_SECONDS.of(context)
        self._retries = metrics.RETRIES.labels(context)
        self._unanswered = metrics.UNANSWERED.labels(context)
        self._queue: deque[_Waiting] = deque()
        self._scheduled: asyncio.Handle | None = None
        self._due = self._sent_at = float("-inf")
        self._epoch = 0
        self._sending: set[asyncio.Task[None]] = set()
        self.count = 0

    def add(self, waiting: _Waiting, *, can_wait: bool) -> None:
        self.count += 1
        self._queue.append(waiting)
        # All commands added in this iteration of the event loop share one message. While other commands are in flight,
        # one message every few milliseconds is enough: a message costs as much as deciding a dozen commands.
        now = asyncio.get_running_loop().time()
        if len(self._queue) >= MESSAGE_COMMANDS_MAX or self.count == len(self._queue) == 1:
            self._flush_at(now)
        else:
            self._flush_at(now + PATIENCE_S if can_wait else self._sent_at + MESSAGE_EVERY_S)

    def _flush_at(self, when: float) -> None:
        """Send the queue at this time or earlier."""
        if self._scheduled is not None:
            if self._due <= when:
                return
            self._scheduled.cancel()
        loop = asyncio.get_running_loop()
        self._due = when
        self._scheduled = loop.call_soon(self._flush) if when <= loop.time() else loop.call_at(when, self._flush)

    def _flush(self) -> None:
        self._scheduled = None
        self._sent_at = asyncio.get_running_loop().time()
        while self._queue:
            batch: list[_Waiting] = []
            size = 0
            while self._queue and len(batch) < MESSAGE_COMMANDS_MAX and size < MESSAGE_BYTES_MAX:
                waiting = self._queue.popleft()
                batch.append(waiting)
                size += len(waiting.encoded)
            task = asyncio.get_running_loop().create_task(self._deliver(batch))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _deliver(self, batch: list[_Waiting]) -> None:
        try:
            await self._deliver_until_answered(batch)
        finally:
            self.count -= len(batch)
            self._give_up(batch)

    async def _deliver_until_answered(self, batch: list[_Waiting]) -> None:
        loop = asyncio.get_running_loop()
        tries = 0
        in_doubt = False
        """Whether an earlier try got no answer. Its commands may still take effect, so OVERLOADED and LOG_FULL are then
        no final outcomes: these commands are retried, too."""
        while batch:
            tries += 1
            left = max(waiting.deadline for waiting in batch) - loop.time()
            try:
                outcomes = await self._exchange(batch, max(min(REPLY.pause_s(tries), left), REPLY_MIN_S))
            except NoRespondersError:
                outcomes = None  # nobody leads at the moment, because of an election or a start: common, and soon over
            except (NatsError, OSError, msgspec.DecodeError) as error:
                log.info("command_unanswered", subject=self._subject, commands=len(batch), error=repr(error))
                outcomes = None
            if outcomes is None:
                in_doubt = True
            else:
                batch = self._settle(batch, outcomes, in_doubt)
            now = loop.time()
            self._give_up([waiting for waiting in batch if waiting.deadline <= now])
            batch = [waiting for waiting in batch if not waiting.future.done()]
            if batch:
                # Send the same ids again: a writer that has already decided them repeats its answer, and outcomes that
                # did not fit into the last reply fit now. Never send smaller or more frequent messages than before:
                # they would keep an overloaded writer overloaded.
                self._retries.inc()
                await asyncio.sleep(RETRY.pause_s(tries, random.random()))  # noqa: S311 - jitter

    async def _exchange(self, batch: list[_Waiting], patience_s: float) -> list[Outcome] | None:
        body = b"[" + b",".join([waiting.encoded for waiting in batch]) + b"]"
        message = await self._client.request(self._subject, body, timeout=patience_s)
        reply = _decode_reply(message.data)
        if reply.epoch < self._epoch or len(reply.outcomes) != len(batch):
            log.warning("stale_reply_dropped", subject=self._subject, epoch=reply.epoch, newest=self._epoch)
            return None
        self._epoch = reply.epoch
        return reply.outcomes

    def _settle(self, batch: list[_Waiting], outcomes: list[Outcome], in_doubt: bool) -> list[_Waiting]:
        """Give each caller its outcome. Return the commands that must be sent again. `in_doubt`: whether an earlier try
        got no answer, so that it may still take effect."""
        again = (Code.NOT_LEADER, Code.OVERLOADED, Code.LOG_FULL) if in_doubt else (Code.NOT_LEADER,)
        left = []
        now, took = asyncio.get_running_loop().time(), self._took.observe
        for waiting, outcome in zip(batch, outcomes, strict=True):
            if type(outcome) is Rejected and outcome.code in again:
                left.append(waiting)
            elif not waiting.future.done():
                waiting.future.set_result(outcome)
                took(now - waiting.since)
        return left

    def _give_up(self, batch: list[_Waiting]) -> None:
        for waiting in batch:
            if not waiting.future.done():
                waiting.future.set_result(_UNAVAILABLE)
                self._unanswered.inc()


class CommandBus:
    """Sends commands to their writers. Each process has one such object. Commands for one partition that wait at the
    same time share a message."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lines: dict[str, dict[str, _Line]] = {}

    def send(
        self,
        context: str,
        command: Command,
        *,
        by: str,
        id: str | None = None,
        trace: str | None = None,
        partition: str = "main",
        timeout_s: float = DEADLINE_S,
    ) -> asyncio.Future[Outcome]:
        """Send a command; return a future with its outcome. The command is retried across a change of leader; after
        `timeout_s` the outcome is UNAVAILABLE."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()
        if trace is not None and tracing.recorder is not None:
            trace = traced(trace, command, context, future)
        submission = Submission(id or str(uuid7()), by, command, UNSET if trace is None else trace)
        encoded = _encoder.encode(submission)
        if len(encoded) > COMMAND_BYTES_MAX:
            future.set_result(_TOO_LARGE)
            return future
        try:
            line = self._lines[context][partition]
        except KeyError:
            line = _Line(self._client, context, partition)
            self._lines.setdefault(context, {})[partition] = line
        if line.count >= WAITING_MAX:
            future.set_result(OVERLOADED)
        else:
            now = loop.time()
            line.add(_Waiting(encoded, future, now, now + timeout_s), can_wait=command.can_wait)
        return future
