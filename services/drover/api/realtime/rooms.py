"""The topics of this process: who has joined them, and the delivery of broadcasts and presences to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final, Protocol

import msgspec
from uuid_utils import uuid4

from drover.api.realtime.frames import BROADCAST, Binary, Vsn, broadcast_payload, encode, encode_bytes
from drover.api.realtime.metrics import BROADCASTS
from drover.api.realtime.presence import Diffs, Presences, Topic
from drover.bus.realtime import Broadcast, PeerLeft, PeerMessage, Present

PRESENCE_DIFF: Final = "presence_diff"
PREFIX: Final = "realtime:"
"""Clients put this before the name of every topic."""


class Member(Protocol):
    """A channel that has joined."""

    @property
    def vsn(self) -> Vsn: ...

    @property
    def sees_presence(self) -> bool: ...

    def send(self, frame: bytes) -> None: ...

    def __hash__(self) -> int: ...


class Rooms:
    def __init__(
        self, tell: Callable[[PeerMessage], None] = lambda _: None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`tell`: queues a message to the other processes, and returns at once."""
        self.process: Final = uuid4().hex
        self.presences: Final = Presences(self.process)
        self.tell = tell
        self._clock = clock
        self._members: dict[Topic, dict[Member, None]] = {}

    def join(self, topic: Topic, member: Member) -> None:
        self._members.setdefault(topic, {})[member] = None

    def leave(self, topic: Topic, member: Member) -> None:
        members = self._members[topic]
        del members[member]
        if not members:
            del self._members[topic]

    def size(self, topic: Topic) -> int:
        return len(self._members.get(topic, ()))

    def broadcast(
        self,
        topic: Topic,
        event: str,
        payload: msgspec.Raw,
        data: bytes | None = None,
        *,
        but: Member | None = None,
    ) -> None:
        """Broadcast to all who have joined the topic, in any process. `data`: bytes to send instead of `payload`.
        `but`: a channel that does not get the broadcast."""
        self._deliver(topic, event, payload, data, but)
        self.tell(Broadcast(self.process, topic.name, topic.is_private, event, payload, data))

    def move(self, *moves: tuple[Present, bool]) -> None:
        """Let clients of this process come (True) or leave (False), and tell the topic and the other processes."""
        diffs, messages = self.presences.move(*moves)
        self._tell_diffs(diffs)
        for message in messages:
            self.tell(message)

    def hear(self, message: PeerMessage) -> None:
        """Handle a message from any process. Own broadcasts are skipped: they were delivered before."""
        if isinstance(message, Broadcast):
            if message.process != self.process:
                topic = Topic(message.topic, message.private)
                self._deliver(topic, message.event, message.payload, message.data, None)
            return
        diffs, answers = self.presences.hear(message, self._clock())
        self._tell_diffs(diffs)
        for answer in answers:
            self.tell(answer)

    def beat(self) -> None:
        self.tell(self.presences.beat())
        self._tell_diffs(self.presences.forget_silent(self._clock()))

    def farewell(self) -> PeerMessage:
        return PeerLeft(self.process)

    def _deliver(self, topic: Topic, event: str, payload: msgspec.Raw, data: bytes | None, but: Member | None) -> None:
        members = [member for member in self._members.get(topic, ()) if member is not but]
        if data is not None:
            frame = encode_bytes(PREFIX + topic.name, event, data)
            _send([member for member in members if member.vsn is Vsn.TWO], frame)
        else:
            self._send_all(members, topic, BROADCAST, payload)
        BROADCASTS.inc(len(members))

    def _tell_diffs(self, diffs: Diffs) -> None:
        for topic, diff in diffs.items():
            watching = [member for member in self._members.get(topic, ()) if member.sees_presence]
            if watching:
                self._send_all(watching, topic, PRESENCE_DIFF, msgspec.Raw(diff.encode()))

    def _send_all(self, members: Iterable[Member], topic: Topic, event: str, payload: msgspec.Raw) -> None:
        frames: dict[Vsn, bytes] = {}
        for member in members:
            frame = frames.get(member.vsn)
            if frame is None:
                frame = frames[member.vsn] = encode(member.vsn, PREFIX + topic.name, event, payload)
            member.send(frame)


def _send(members: Iterable[Member], frame: Binary) -> None:
    for member in members:
        member.send(frame)


def said(event: str, payload: msgspec.Raw) -> msgspec.Raw:
    """Make the payload of a broadcast as clients receive it."""
    return msgspec.Raw(broadcast_payload(event, payload))
