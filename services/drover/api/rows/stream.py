"""The content of one client's row stream: first an event `hello`, then changed rows, and events `reset` with the
relations that the client must read again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final

import msgspec

from drover.api.rows.hub import Hub
from drover.api.rows.line import Line
from drover.api.rows.metrics import MESSAGES, RESETS
from drover.api.rows.sight import OwnRows
from drover.api.rows.token import Stand, Stands, format_token
from drover.api.rows.track import Entry, Track, Why
from drover.projection.positions import format_position
from drover.web.sse import HEARTBEAT_S, RETRY_MS, Chunk, event

CHUNK_BYTES: Final = 64 * 1024
"""How many bytes a connection gets at once. A single message that is larger is sent whole."""

_encode: Final = msgspec.json.Encoder().encode


class RelationTold(msgspec.Struct, frozen=True):
    """A relation of this stream, as the first event (`hello`) describes it."""

    key: list[str]
    """The columns that identify a row, in the order of the values in the field `gone` of `rows`."""
    withheld: list[str]
    """Columns that are null in every row of this stream. Clients that need them read them from the list endpoints."""
    contexts: list[str]
    """The contexts whose rows are sent."""


class RowsHello(msgspec.Struct, frozen=True):
    """The first event of a row stream, `hello`."""

    epochs: dict[str, str | None]
    min_position: str
    """The value for `Drover-Min-Position`: a client that reads with it and then applies this stream misses nothing."""
    relations: dict[str, RelationTold]
    heartbeat_s: float


class RowsReset(msgspec.Struct, frozen=True):
    """The relations that the client must read again, because changes of them are missing from the stream."""

    relations: list[str]
    min_position: str
    why: Why


class RowsLag(msgspec.Struct, frozen=True):
    """Tells that the read model of a context has stalled, or moves again."""

    context: str
    stale: bool


class _Follower:
    """A client's position in the changes of one relation of one partition."""

    def __init__(self, line: Line, relation: str, stand: Stand | None, *, is_new: bool) -> None:
        """`stand`: the position to resume from. `is_new`: the client has read nothing yet, so its stream starts with
        the next change."""
        self.line = line
        self.relation = relation
        self.track: Track = line.tracks[relation]
        self.stand: Stand | None = None
        self.number = self.track.newest
        self.must_reset: Why | None = None
        if is_new:
            self._move(self.track.last)
            return
        self.stand = stand  # kept until the reset is sent: a client that disconnects before must get it again
        number = None if stand is None else self.track.resume(*stand)
        if number is not None:
            self.number = number
        else:
            is_other = stand is None or stand.epoch != self.track.epoch
            self.must_reset = Why.EPOCH if is_other else Why.HOLE

    def resets(self) -> Entry | None:
        """Return the reset that must be sent before any row. None: there is none."""
        if self.must_reset is not None:
            why, self.must_reset = self.must_reset, None
            self.number = self.track.newest
            self._move(self.track.last)
            return Entry(self.number, self.line.seq, why=why)
        newer = self.track.after(self.number)
        if newer is None:
            self.number = self.track.newest
            self._move(self.track.last)
            return Entry(self.number, self.line.seq, why=Why.SLOW)
        if newer and newer[0].why is not None:
            self.take(newer[0])
            return newer[0]
        return None

    def pending(self) -> list[Entry]:
        return self.track.after(self.number) or [] if self.track.newest > self.number else []

    def take(self, entry: Entry) -> None:
        self.number = entry.number
        # If the last position of the relation is unknown, there is no position to resume from.
        self._move(None if self.track.last is None else entry.to)

    def _move(self, position: int | None) -> None:
        epoch = self.track.epoch
        self.stand = None if epoch is None or position is None else Stand(epoch, position)


class RowsSession:
    """The row stream of one client. It has no queue: it builds the next chunk from the shared tracks when the
    connection has room."""

    def __init__(
        self,
        hub: Hub,
        relations: Sequence[str],
        filters: Mapping[str, OwnRows],
        stands: Stands | None = None,
    ) -> None:
        """`stands`: the positions to resume from. None: the stream starts with the next change."""
        self._hub = hub
        self._relations = {name: hub.live[name] for name in relations}
        self._filters = filters
        contexts = dict.fromkeys(one.context for many in self._relations.values() for one in many)
        self._lines = hub.lines(contexts)
        self._followers = [
            _Follower(line, name, None if stands is None else stands.get((line.place, name)), is_new=stands is None)
            for line in self._lines
            for name in relations
            if name in line.tracks
        ]
        self._stale = dict.fromkeys(contexts, False)

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        """Produce the chunks of the stream, without end. The caller requests the next chunk when the previous one was
        sent."""
        with self._hub.listening() as bell:
            yield self._hello()
            while True:
                woken = bell.listen()
                frames = [*self._lags(), *self._resets(), *self._rows()]
                if frames:
                    yield Chunk(b"".join(frames), self._token())
                    if self._is_behind():
                        continue
                await woken.wait()

    def _hello(self) -> Chunk:
        hello = RowsHello(
            {line.place: line.epoch for line in self._lines},
            format_position({line.place: line.seq for line in self._lines}),
            {
                name: RelationTold([*many[0].key], [*many[0].withheld], [one.context for one in many])
                for name, many in self._relations.items()
            },
            HEARTBEAT_S,
        )
        token = self._token()
        return Chunk(event("hello", _encode(hello), id=token, retry_ms=RETRY_MS), token)

    def _lags(self) -> list[bytes]:
        frames = []
        for context, was in self._stale.items():
            if (stale := self._hub.is_stale(context)) != was:
                self._stale[context] = stale
                frames.append(event("lag", _encode(RowsLag(context, stale))))
        return frames

    def _resets(self) -> list[bytes]:
        """Send all resets together, before any row. Only the last one has an id: a client that resumed from an earlier
        id would miss the resets after it."""
        found: dict[Why, dict[str, int]] = {}
        names: dict[Why, dict[str, None]] = {}
        for follower in self._followers:
            if (entry := follower.resets()) is not None:
                assert entry.why is not None
                place = follower.line.place
                positions = found.setdefault(entry.why, {})
                positions[place] = max(entry.to, positions.get(place, 0))
                names.setdefault(entry.why, {})[follower.relation] = None
        for why, relations in names.items():
            RESETS.labels(why).inc(len(relations))
        told = [RowsReset([*names[why]], format_position(positions), why) for why, positions in found.items()]
        return [
            *(event("reset", _encode(one)) for one in told[:-1]),
            *(event("reset", _encode(one), id=self._token()) for one in told[-1:]),
        ]

    def _rows(self) -> list[bytes]:
        """Collect the next changed rows, in the order of arrival, as many as fit into a chunk."""
        pending = [(entry, follower) for follower in self._followers for entry in follower.pending()]
        pending.sort(key=lambda item: item[0].number)
        frames: list[bytes] = []
        size_bytes = 0
        for entry, follower in pending:
            if frames and size_bytes + len(entry.data) > CHUNK_BYTES:
                break
            own = self._filters.get(follower.relation)
            data = entry.data if own is None else own.filter(entry.data)
            follower.take(entry)
            if data:
                size_bytes += len(data)
                frames.append(event("rows", data, id=self._token()))
        MESSAGES.inc(len(frames))
        return frames

    def _is_behind(self) -> bool:
        """Whether changes are left that are not sent yet."""
        return any(one.track.newest > one.number for one in self._followers)

    def _token(self) -> str:
        return format_token(
            {(one.line.place, one.relation): one.stand for one in self._followers if one.stand is not None}
        )
