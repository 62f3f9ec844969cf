"""Reads a partition with a pull consumer that buffers a bounded number of commits and restarts itself after faults."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import nats.js.api as api
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from drover.domain.backoff import Backoff, Retries
from drover.eventlog.log import ALL, BelowBottom, Partition, StoredCommit
from drover.eventlog.stamp import delivery_of
from drover.eventlog.stored import previous_seq, stored_commit

PULL_COMMITS: Final = 256
PULL_BYTES: Final = 8 * 1024 * 1024
PULLS_HELD_MAX: Final = 2
"""How many fetched batches (pulls) the buffer may hold. While it is full, the server is asked for no more."""
PULL_EXPIRES_S: Final = 30.0
HEARTBEAT_S: Final = 1.0
HEARTBEATS_MAX: Final = 5
"""After this many heartbeats in a row, a consumer that says it has messages but delivers none is replaced."""
SILENCE_S: Final = 2.5
"""How long the server may send neither a message nor a heartbeat. After that the consumer counts as lost and is created
again."""
CONSUMER_IDLE_S: Final = 60.0
MAKE_CONSUMER_S: Final = 3.0
"""The time-out for creating a consumer. After it we ask again: the server that should create it may be dead, and
another one may do it."""
RESTART: Final = Backoff(first_s=0.2, max_s=2.0)

_NANO: Final = 1_000_000_000

log = structlog.get_logger("drover.eventlog")


class _Message(msgspec.Struct):
    seq: int


class _First(msgspec.Struct):
    message: _Message


class _State(msgspec.Struct):
    first_seq: int
    last_seq: int
    messages: int


class _Info(msgspec.Struct):
    state: _State


class JetStreamReader:
    """Reads the commits after `after`, in order and without gaps, even if connections and servers are lost.

    JetStream silently begins at the first message that it still has, and silently skips what is purged while it is
    being read. So every commit is checked: the predecessor that it names must be the last one that was read. For
    messages that name no predecessor, the server is asked, once for all that are buffered.
    """

    def __init__(self, client: Client, partition: Partition, after: int) -> None:
        self._client = client
        self._partition = partition
        self._buffer: deque[tuple[StoredCommit, int]] = deque()
        self._buffered_to = after
        self._behind = 0
        self._below_bottom = False
        """Whether the commits right after the buffered ones have left the stream."""
        self._unproven: int | None = None
        """Among the buffered messages, one may not name its predecessor. This is the position before the first such
        message, which is still to be checked. None: there is none."""
        self._wake = asyncio.Event()
        self._subscription: Subscription | None = None
        self._consumer = ""
        self._delivered = 0
        """The number of the last message in the consumer's own count. If the next one is higher by more than one,
        messages were lost."""
        self._outstanding = 0
        self._undelivered = 0
        """How many messages the consumer still had for us, according to its last message."""
        self._heartbeats = 0
        """How many heartbeats came since the last message."""
        self._trouble: str | None = "not started"
        self._heard_at = 0.0
        self._reconnects = 0
        self._restarts = Retries(RESTART)

    @property
    def behind(self) -> int:
        return self._behind

    async def next(self) -> list[StoredCommit]:
        while not self._buffer:
            if self._below_bottom:
                raise BelowBottom(self._partition, self._buffered_to)
            if self._trouble is not None:
                await self._restart()
                continue
            self._wake.clear()
            await self._pull_if_low()
            await self._wait_for_a_message()
        await self._pull_if_low()
        while self._unproven is not None:
            await self._prove()
        # No await from here on, so that a cancelled caller loses nothing.
        self._behind = self._buffer[-1][1]
        batch = [commit for commit, _ in self._buffer]
        self._buffer.clear()
        return batch

    async def _wait_for_a_message(self) -> None:
        loop = asyncio.get_running_loop()
        patience = self._heard_at + SILENCE_S - loop.time()
        try:
            async with asyncio.timeout(max(patience, 0.01)):
                await self._wake.wait()
        except TimeoutError:
            if loop.time() - self._heard_at >= SILENCE_S:
                self._trouble = "silence"
        if self._client.stats["reconnects"] != self._reconnects:
            # A commit that was lost with the connection counts as delivered on the server, and the old pull keeps
            # sending heartbeats. Only a new consumer delivers it again.
            self._trouble = "reconnected"

    async def _prove(self) -> None:
        """Ask the server whether commits are missing before a message that does not name its predecessor. Raises
        BelowBottom if so.

        A purge removes only the oldest commits of a partition. So if the partition still has a message at or before our
        position, none is missing after it.
        """
        assert self._unproven is not None
        after, self._unproven = self._unproven, None  # messages that arrive while we ask are checked again
        try:
            is_whole = await self._first_left() <= after or await self._is_whole_after(after)
        except (NatsError, OSError, msgspec.DecodeError) as error:
            log.warning("bottom_unknown", subject=self._partition.subject, error=repr(error))
            self._unproven = after
            await asyncio.sleep(self._restarts.failed())
            return
        if not is_whole:
            self._unproven = after
            raise BelowBottom(self._partition, after)

    async def _first_left(self) -> int:
        """Return the sequence of the first message of the partition that is still in the stream."""
        question = msgspec.json.encode({"seq": 1, "next_by_subj": self._partition.subject})
        subject = f"$JS.API.STREAM.MSG.GET.{self._partition.stream}"
        reply = await self._client.request(subject, question, timeout=MAKE_CONSUMER_S)
        return msgspec.json.decode(reply.data, type=_First).message.seq

    async def _is_whole_after(self, after: int) -> bool:
        """Whether the stream, with all its partitions, has every message after a position."""
        reply = await self._client.request(
            f"$JS.API.STREAM.INFO.{self._partition.stream}", b"", timeout=MAKE_CONSUMER_S
        )
        state = msgspec.json.decode(reply.data, type=_Info).state
        return state.first_seq <= after + 1 and state.messages == state.last_seq - state.first_seq + 1

    async def close(self) -> None:
        # Take subscription and consumer before the first await, so that a cancelled call leaves no half-closed consumer
        # behind.
        subscription, self._subscription = self._subscription, None
        consumer, self._consumer = self._consumer, ""
        try:
            if subscription is not None:
                await subscription.unsubscribe()
            if consumer:
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._client.jsm().delete_consumer(self._partition.stream, consumer)
        except (NatsError, OSError, TimeoutError):
            pass  # the server removes an idle consumer itself

    async def _restart(self) -> None:
        if self._trouble != "not started":
            log.info("reader_restarts", subject=self._partition.subject, after=self._buffered_to, why=self._trouble)
        await self.close()
        self._reconnects = self._client.stats["reconnects"]
        try:
            inbox = self._client.new_inbox()
            self._subscription = await self._client.subscribe(inbox, cb=self._on_message)
            info = await self._client.jsm(timeout=MAKE_CONSUMER_S).add_consumer(
                self._partition.stream,
                api.ConsumerConfig(
                    filter_subject=self._partition.subject,
                    deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
                    opt_start_seq=self._buffered_to + 1,
                    ack_policy=api.AckPolicy.NONE,
                    inactive_threshold=CONSUMER_IDLE_S,
                    mem_storage=True,
                    num_replicas=1,
                ),
            )
        except (NatsError, OSError, TimeoutError) as error:
            self._trouble = repr(error)
            await asyncio.sleep(self._restarts.failed())
            return
        self._restarts.succeeded()
        self._consumer = info.name
        self._delivered = 0
        self._outstanding = 0
        self._undelivered, self._heartbeats = info.num_pending or 0, 0
        self._heard_at = asyncio.get_running_loop().time()
        self._trouble = None

    async def _pull_if_low(self) -> None:
        room = self._outstanding + len(self._buffer) <= PULL_COMMITS * (PULLS_HELD_MAX - 1)
        if self._trouble is not None or not room or self._outstanding > PULL_COMMITS // 2:
            return
        request = {
            "batch": PULL_COMMITS,
            "max_bytes": PULL_BYTES,
            "expires": int(PULL_EXPIRES_S * _NANO),
            "idle_heartbeat": int(HEARTBEAT_S * _NANO),
        }
        self._outstanding += PULL_COMMITS
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._partition.stream}.{self._consumer}"
        assert self._subscription is not None
        try:
            await self._client.publish(subject, msgspec.json.encode(request), reply=self._subscription.subject)
        except (NatsError, OSError) as error:
            self._trouble = repr(error)

    async def _on_message(self, message: Msg) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        if message.headers and (status := message.headers.get("Status")):
            self._on_status(status, message.headers)
        else:
            self._on_commit(message)
        self._wake.set()

    def _on_status(self, status: str, headers: dict[str, Any]) -> None:
        if status == "100":
            self._on_heartbeat()
            return
        if status in ("404", "408", "409"):
            # This pull has ended: by time, by bytes, or because the consumer is gone (the next pull reports that).
            self._outstanding = max(0, self._outstanding - int(headers.get("Nats-Pending-Messages", PULL_COMMITS)))
            description = str(headers.get("Description", "")).lower()
            if "deleted" in description or "leadership" in description or "shutdown" in description:
                self._trouble = description
        else:
            self._trouble = f"status {status}"

    def _on_heartbeat(self) -> None:
        """Count a heartbeat. The server sends them while it delivers nothing. If the consumer has messages
        nevertheless, the node that leads it cannot read its own replica. Then we make a new consumer, which another
        node may lead."""
        self._heartbeats += 1
        if self._undelivered and self._heartbeats >= HEARTBEATS_MAX:
            self._trouble = f"{self._undelivered} messages are not delivered"

    def _on_commit(self, message: Msg) -> None:
        if self._trouble is not None:
            return  # the consumer will be replaced, and the new one delivers this commit again
        delivery = delivery_of(message.reply)
        if delivery.consumer != self._consumer:
            return  # a late message for an abandoned consumer
        if delivery.number != self._delivered + 1:
            self._trouble = f"gap after {self._buffered_to}"
            return
        self._delivered += 1
        self._undelivered, self._heartbeats = delivery.pending, 0
        self._outstanding = max(0, self._outstanding - 1)
        headers = message.headers or {}
        if self._below_bottom or self._misses_commits(delivery.seq, headers):
            self._below_bottom = True
            return
        commit = stored_commit(self._partition.stream, delivery.seq, headers, delivery.by_server, message.data)
        self._buffered_to = commit.seq
        self._buffer.append((commit, delivery.pending))

    def _misses_commits(self, seq: int, headers: Mapping[str, str]) -> bool:
        """Whether commits are missing between the last one that was buffered and this one."""
        if seq == self._buffered_to + 1:
            return False
        if self._partition.name == ALL:
            return True
        previous = previous_seq(headers)
        if previous is None and self._unproven is None:
            self._unproven = self._buffered_to
        return previous is not None and previous > self._buffered_to
