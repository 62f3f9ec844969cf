"""The changes of one partition: a `Track` per relation, checked for lost messages at every heartbeat. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from drover.api.rows.track import Track, Why
from drover.bus.rows import RowsChanged, RowsHeartbeat

_encode: Final = msgspec.json.Encoder().encode


class RowsTold(msgspec.Struct, frozen=True):
    """The data of a stream event `rows`: changed and deleted rows of a relation."""

    relation: str
    context: str
    to: int
    """The position of the read model after this change."""
    rows: list[msgspec.Raw]
    gone: list[msgspec.Raw]
    """The keys of rows that were deleted, or that this client may no longer see."""


Resets = Mapping[str, Why]
"""Relations that clients must read again, each with the reason."""


class Line:
    def __init__(self, context: str, place: str, relations: Iterable[str], make_track: Callable[[], Track]) -> None:
        self.context: Final = context
        self.place: Final = place
        self.epoch: str | None = None
        self.seq = 0
        """The highest position in any message: the read model has reached at least this commit."""
        self.tracks: Final = {name: make_track() for name in relations}

    def changed(self, relation: str, message: RowsChanged) -> Resets:
        track = self.tracks.get(relation)
        if track is None:  # a relation that only a newer projector knows
            return {}
        if message.epoch != self.epoch:
            begun = self._begin(message.epoch, {relation: message.to}, message.to)
            return {relation: Why.BEHIND} if message.reset and not begun else begun
        self.seq = max(self.seq, message.to)
        if message.reset:
            track.reset(Why.BEHIND, message.to)
            return {relation: Why.BEHIND}
        follows = track.add(message.after, message.to, self._data(relation, message))
        return {} if follows else {relation: Why.HOLE}

    def heartbeat(self, message: RowsHeartbeat) -> Resets:
        if message.epoch != self.epoch:
            return self._begin(message.epoch, message.last, message.seq)
        self.seq = max(self.seq, message.seq)
        return {
            name: Why.HOLE
            for name, last in message.last.items()
            if (track := self.tracks.get(name)) is not None and not track.check(last)
        }

    def _begin(self, epoch: str, last: dict[str, int], seq: int) -> Resets:
        """Start a new epoch. All relations must be read again, except in the first epoch: nothing was missed yet."""
        is_first = self.epoch is None
        self.epoch = epoch
        self.seq = seq  # may be lower than before: a rebuilt read model starts over
        for name, track in self.tracks.items():
            known = last.get(name)
            track.begin(epoch, known, seq if known is None else known)
        return {} if is_first else dict.fromkeys(self.tracks, Why.EPOCH)

    def _data(self, relation: str, message: RowsChanged) -> bytes:
        gone = [msgspec.Raw(_encode(key)) for key in message.gone]
        return _encode(RowsTold(relation, self.context, message.to, message.rows, gone))
