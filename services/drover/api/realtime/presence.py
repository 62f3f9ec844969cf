"""Who is present in which topic, in this process and in others. Pure: returns the messages to send, sends none."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from drover.api.realtime.limits import SILENT_PEER_S, SNAPSHOT_BYTES_MAX
from drover.bus.realtime import PeerAsk, PeerBeat, PeerLeft, PeerMessage, PeerSnapshot, PresenceMoved, Present

_encode: Final = msgspec.json.Encoder().encode

Metas = dict[str, dict[str, msgspec.Raw]]
"""What clients say of themselves, by presence key and `phx_ref`."""


class Topic(NamedTuple):
    name: str
    is_private: bool


class Diff(msgspec.Struct):
    """The presences of one topic that were added and removed."""

    joins: Metas = {}
    leaves: Metas = {}

    def encode(self) -> bytes:
        return _encode({"joins": _told(self.joins), "leaves": _told(self.leaves)})

    def note(self, who: Present, *, is_here: bool) -> None:
        """Add a client to those that came (`joins`) or left (`leaves`). A client that changed its data is in both."""
        (self.joins if is_here else self.leaves).setdefault(who.key, {})[who.ref] = who.meta


Diffs = dict[Topic, Diff]


class _Peer:
    def __init__(self) -> None:
        self.number: int | None = None
        """The number of the last `PresenceMoved` message from that process. None: its presences are not known yet."""
        self.heard_at = 0.0
        self.present: dict[tuple[Topic, str], Present] = {}
        """The clients of that process, by topic and `phx_ref`."""
        self.parts: list[Present] = []
        """The presences in the parts of a snapshot that have arrived so far."""


class Presences:
    def __init__(self, process: str) -> None:
        self._process = process
        self._mine = _Peer()
        self._mine.number = 0
        self._peers: dict[str, _Peer] = {}
        self._topics: dict[Topic, Metas] = {}

    def state(self, topic: Topic) -> bytes:
        return _encode(_told(self._topics.get(topic, {})))

    def count(self, topic: Topic) -> int:
        return sum(map(len, self._topics.get(topic, {}).values()))

    def size_bytes(self, topic: Topic) -> int:
        """Estimate the size of `state` in bytes. The real size is a few bytes more for each presence."""
        metas = self._topics.get(topic, {})
        return sum(presence_bytes(key, meta) for key, refs in metas.items() for meta in refs.values())

    # Clients of this process

    @property
    def own(self) -> int:
        """How many clients of this process are present."""
        return len(self._mine.present)

    def move(self, *moves: tuple[Present, bool]) -> tuple[Diffs, list[PeerMessage]]:
        """Let clients of this process come (True) or leave (False). Returns what changed in each topic, and the
        messages for the other processes."""
        diffs, messages = Diffs(), list[PeerMessage]()
        for who, is_here in moves:
            self._apply(self._mine, who, is_here, diffs)
            self._mine.number = number = (self._mine.number or 0) + 1
            messages.append(PresenceMoved(self._process, number, who, is_here))
        return diffs, messages

    def beat(self) -> PeerMessage:
        return PeerBeat(self._process, self._mine.number or 0)

    # Clients of other processes

    def hear(self, message: PeerMessage, now: float) -> tuple[Diffs, list[PeerMessage]]:
        """Apply a message of another process. Returns what changed in each topic, and the answers to send. `now`:
        monotonic seconds."""
        diffs, answers = Diffs(), list[PeerMessage]()
        if isinstance(message, PeerAsk) and message.of == self._process:
            answers.extend(self._snapshot())
        if message.process == self._process or isinstance(message, PeerAsk):
            return diffs, answers
        if isinstance(message, PeerLeft):
            self._forget(message.process, diffs)
            return diffs, answers
        peer = self._peers.setdefault(message.process, _Peer())
        peer.heard_at = now
        if isinstance(message, PresenceMoved):
            self._hear_move(peer, message, diffs, answers)
        elif isinstance(message, PeerBeat) and message.number != peer.number:
            answers.append(PeerAsk(self._process, message.process))
        elif isinstance(message, PeerSnapshot):
            self._hear_snapshot(peer, message, diffs)
        return diffs, answers

    def forget_silent(self, now: float) -> Diffs:
        """Remove the clients of processes that have stopped sending heartbeats. Returns what changed in each topic."""
        diffs = Diffs()
        for process in [name for name, peer in self._peers.items() if now - peer.heard_at > SILENT_PEER_S]:
            self._forget(process, diffs)
        return diffs

    def _hear_move(self, peer: _Peer, message: PresenceMoved, diffs: Diffs, answers: list[PeerMessage]) -> None:
        if peer.number is None or message.number > peer.number + 1:
            answers.append(PeerAsk(self._process, message.process))
        elif message.number == peer.number + 1:
            peer.number = message.number
            self._apply(peer, message.who, message.is_here, diffs)

    def _hear_snapshot(self, peer: _Peer, message: PeerSnapshot, diffs: Diffs) -> None:
        """Apply one part of a snapshot. Parts arrive in order: one process sends them over one connection."""
        peer.parts = [*message.present] if message.part == 0 else [*peer.parts, *message.present]
        if message.part + 1 < message.parts or (peer.number or 0) > message.number:
            return
        now_here = {(_topic(who), who.ref): who for who in peer.parts}
        gone = [who for place, who in peer.present.items() if place not in now_here]
        for who in gone:
            self._apply(peer, who, False, diffs)
        for place, who in now_here.items():
            if place not in peer.present:
                self._apply(peer, who, True, diffs)
        peer.number, peer.parts = message.number, []

    def _snapshot(self) -> list[PeerMessage]:
        parts: list[list[Present]] = [[]]
        size = 0
        for who in self._mine.present.values():
            bytes_ = len(bytes(who.meta)) + len(who.key) + len(who.topic)
            if size + bytes_ > SNAPSHOT_BYTES_MAX:
                parts.append([])
                size = 0
            parts[-1].append(who)
            size += bytes_
        number = self._mine.number or 0
        return [PeerSnapshot(self._process, number, n, len(parts), part) for n, part in enumerate(parts)]

    def _forget(self, process: str, diffs: Diffs) -> None:
        peer = self._peers.pop(process, None)
        for who in [*peer.present.values()] if peer is not None else ():
            assert peer is not None
            self._apply(peer, who, False, diffs)

    def _apply(self, peer: _Peer, who: Present, is_here: bool, diffs: Diffs) -> None:
        topic = _topic(who)
        if is_here:
            peer.present[topic, who.ref] = who
            self._topics.setdefault(topic, {}).setdefault(who.key, {})[who.ref] = who.meta
        else:
            known = peer.present.pop((topic, who.ref), None)
            if known is None:
                return
            self._remove(topic, who)
        diffs.setdefault(topic, Diff()).note(who, is_here=is_here)

    def _remove(self, topic: Topic, who: Present) -> None:
        keys = self._topics[topic]
        del keys[who.key][who.ref]
        if not keys[who.key]:
            del keys[who.key]
        if not keys:
            del self._topics[topic]


def _topic(who: Present) -> Topic:
    return Topic(who.topic, who.private)


def _told(metas: Metas) -> dict[str, dict[str, list[msgspec.Raw]]]:
    return {key: {"metas": [*refs.values()]} for key, refs in metas.items()}


def presence_bytes(key: str, meta: msgspec.Raw) -> int:
    return len(_encode(key)) + len(meta)


def meta_of(payload: dict[str, object], ref: str, previous: str | None) -> msgspec.Raw:
    """Make the data of a client as other clients receive it, with the `phx_ref` of this and of its previous state."""
    refs = {"phx_ref": ref} if previous is None else {"phx_ref": ref, "phx_ref_prev": previous}
    return msgspec.Raw(_encode({**payload, **refs}))
