"""A pull consumer: hands the messages of a stream to those who ask for them, each once and in order."""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

import msgspec

from drover.testing.simulated_nats.stream import NANO, Stored, Stream
from drover.testing.simulated_nats.wire import Message, encode_headers

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Outlet(Protocol):
    """Where a consumer's messages go."""

    def is_wanted(self, subject: str) -> bool: ...

    def send(self, subject: str, message: Message) -> bool:
        """Send a message to the subscribers of `subject`, even if the message itself names another subject. Return
        whether there are any subscribers."""


class _Pull(msgspec.Struct):
    """One request for messages."""

    reply: str
    left: int
    bytes_left: int | None
    timers: list[asyncio.TimerHandle]


class Consumer:
    def __init__(self, name: str, stream: Stream, config: dict[str, Any], outlet: Outlet) -> None:
        self.name = name
        self.config = config
        self._stream = stream
        self._filter: str = config.get("filter_subject", ">")
        self._outlet = outlet
        self._next_seq: int = max(config.get("opt_start_seq", 1), stream.first_seq)
        self._delivered = 0
        self._pulls: deque[_Pull] = deque()
        self._heard_s = 0.0
        self._pending = 0
        self._counted_to = self._next_seq - 1
        self._removals = stream.removals

    @property
    def position(self) -> dict[str, int]:
        return {"consumer_seq": self._delivered, "stream_seq": self._next_seq - 1}

    def pending(self) -> int:
        """Return how many messages wait for this consumer."""
        if self._removals != self._stream.removals:
            self._removals, self._counted_to, self._pending = self._stream.removals, self._next_seq - 1, 0
        self._pending += sum(1 for _ in self._stream.from_(self._counted_to + 1, self._filter))
        self._counted_to = max(self._counted_to, self._stream.last_seq)
        return self._pending

    def pull(self, request: dict[str, Any], reply: str) -> None:
        loop = asyncio.get_running_loop()
        pull = _Pull(reply, request["batch"], request.get("max_bytes"), [])
        pull.timers.append(loop.call_later(request["expires"] / NANO, self._end, pull, "408 Request Timeout"))
        self._heard_s = loop.time()
        if heartbeat_ns := request.get("idle_heartbeat"):
            self._heart_beats(pull, heartbeat_ns / NANO)
        self._pulls.append(pull)
        self.deliver()

    def deliver(self) -> None:
        """Send the next messages of the stream to the pulls that wait for them."""
        while self._pulls and (message := next(self._stream.from_(self._next_seq, self._filter), None)) is not None:
            pull = self._pulls[0]
            if not self._outlet.is_wanted(pull.reply):
                self._forget(pull)
                continue
            self._deliver(pull, message)

    def _deliver(self, pull: _Pull, message: Stored) -> None:
        at_ns = (message.at - _EPOCH) // timedelta(microseconds=1) * 1000
        position = f"{message.seq}.{self._delivered + 1}.{at_ns}.{self.pending() - 1}"
        ack = f"$JS.ACK.{self._stream.config['name']}.{self.name}.1.{position}"
        if pull.bytes_left is not None:
            size = len(message.subject) + len(ack) + len(message.headers) + len(message.data)
            if size > pull.bytes_left:
                self._end(pull, "409 Message Size Exceeds MaxBytes")
                return
            pull.bytes_left -= size
        self._pending -= 1
        self._delivered += 1
        self._next_seq = message.seq + 1
        self._heard_s = asyncio.get_running_loop().time()
        pull.left -= 1
        if not pull.left:
            self._forget(pull)
        self._outlet.send(pull.reply, Message(message.subject, message.data, ack, message.headers))

    def _heart_beats(self, pull: _Pull, every_s: float) -> None:
        loop = asyncio.get_running_loop()

        def beat(heard_s: float) -> None:
            if self._heard_s == heard_s:  # nothing was sent since this timer was set
                self._tell(pull.reply, "100 Idle Heartbeat", {})
                self._heard_s = loop.time()
            pull.timers[1] = loop.call_at(self._heard_s + every_s, beat, self._heard_s)

        pull.timers.append(loop.call_at(self._heard_s + every_s, beat, self._heard_s))

    def _end(self, pull: _Pull, status: str) -> None:
        left = {"Nats-Pending-Messages": str(pull.left), "Nats-Pending-Bytes": str(pull.bytes_left or 0)}
        self._forget(pull)
        self._tell(pull.reply, status, left)

    def _forget(self, pull: _Pull) -> None:
        self._pulls.remove(pull)
        for timer in pull.timers:
            timer.cancel()

    def _tell(self, reply: str, status: str, headers: dict[str, str]) -> None:
        self._outlet.send(reply, Message(reply, headers=encode_headers(headers, status)))

    def close(self) -> None:
        """Forget the pulls that wait, because the server stops."""
        for pull in list(self._pulls):
            self._forget(pull)

    def delete(self) -> None:
        for pull in list(self._pulls):
            self._forget(pull)
            self._tell(pull.reply, "409 Consumer Deleted", {})
